-- A person can decline an attempt until its link expires, even if its agent withdrew it, sent too many wrong codes, was deleted or
-- expired. Such an attempt stores its two hashes until then, and outlives its agent.
alter table claim_attempts drop constraint claim_attempts_agent_id_fkey;
alter table claim_attempts drop constraint claim_attempts_personal;
alter table claim_attempts add constraint claim_attempts_personal check (
  (state in ('initiated', 'sent', 'code_shown')) = (email_sealed is not null)
  and (email_hash is null) = (mailbox_hash is null)
  and (email_sealed is null or email_hash is not null)
  and (email_hash is null or email_sealed is not null or (purpose = 'agent' and state in ('superseded', 'locked')))
  and (email_sealed is null or purpose = 'sign-in') = (match_phrase_sealed is null)
) not valid;
