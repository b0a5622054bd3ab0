"""What leaves the console as a file: stored runs and comparisons in forms that people and other tools read.

Pure: values in, text out. Each form escapes what came from elsewhere: a server's words, a profile's name, a file path.
"""
