"""What the pages share: the only part of the application that knows streamlit."""
