"""
Views of a snapshot: text, Markdown, HTML, frames. Pure: a snapshot in, something to read out.

What an agent said is hostile until escaped. In every view raw HTML is text, pictures from
elsewhere are links, escape codes are gone or seen, and the home folder is `~`.
"""
