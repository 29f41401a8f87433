-- Finds the mails about one message, entry or verification. Without it, each search reads every mail of the last weeks.
create index mails_about on mails (about);
