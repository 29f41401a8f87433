-- To find the mails about one thing, such as those of a person who leaves. Without it, each search reads all mails of the last weeks.
create index mails_about on mails (about);
