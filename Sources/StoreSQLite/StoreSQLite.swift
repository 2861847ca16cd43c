package import Journal
