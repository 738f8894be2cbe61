"""What the pages share: the only part of the application, besides the pages, that uses Streamlit."""
