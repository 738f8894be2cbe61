# Shapewise for a team: see docs/deploy/deployment.md for what must be set before it starts.
# A release names the base by its digest (docs/contribute/releasing.md); between releases it is the newest of its tag.
ARG BASE=python:3.13-slim
FROM ${BASE}

# Fonts for the letters of pictures and PDFs, Chinese, Japanese and Korean among them.
RUN apt-get update && apt-get install --yes --no-install-recommends fonts-noto-core fonts-noto-cjk \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 shapewise
WORKDIR /app
COPY --chown=root:root . .
RUN pip install --no-cache-dir --constraint constraints.txt -e ".[shared,cluster]" \
    && mkdir -p /data /cache && chown shapewise /data /cache && chmod 700 /data /cache

USER shapewise
ENV GAMCORE_MODE=shared GAMCORE_WORKSPACE=/data GAMCORE_CACHE_DIR=/cache HOME=/home/shapewise \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_HEADLESS=true PYTHONDONTWRITEBYTECODE=1
VOLUME ["/data", "/cache"]
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://localhost:8501/_stcore/health', timeout=4)"]
# Refuses to start (exit code 2) where nobody could sign in, a secret is missing or hosts are open.
CMD ["python", "app.py"]
