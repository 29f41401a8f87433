-- A mail was due when its job in graphile-worker's tables was. The rows of mails take that over; the jobs stay, for instances
-- of the release before that run until the upgrade is done. Of two instances the one that leases the mail sends it.
do $$
begin
  if to_regclass('graphile_worker.jobs') is not null then
    update mails set overdue_at = job.run_at
    from graphile_worker.jobs job
    where job.key = 'mail:' || mails.id and mails.state = 'queued' and mails.leased_until is null
      and job.run_at < mails.overdue_at;
  end if;
end $$;

comment on column mails.overdue_at is 'from then on the mail is due: the next worker leases it, which moves this to the end of the lease';
comment on column mails.leased_until is 'until then one worker alone sends it; null while it waits';
