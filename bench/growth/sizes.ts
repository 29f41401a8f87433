import { openAdmin } from './open-admin.ts'

/** A table or an index. */
export interface Size {
  readonly name: string
  readonly bytes: number
}

/** Of the tables that grow, without their indexes, and of each index. */
export async function sizesOf(urls: { readonly auth: string; readonly resource: string }): Promise<Size[]> {
  const all: Size[] = []
  for (const url of [urls.auth, urls.resource]) {
    await using admin = await openAdmin(url)
    const { rows } = await admin.query(
      `select c.relname as name, pg_relation_size(c.oid)::text as bytes
       from pg_class c left join pg_index i on i.indexrelid = c.oid
       where coalesce(i.indrelid, c.oid) in
         (select oid from pg_class where relname in ('agents', 'agent_secrets', 'waitlist_entries', 'waitlist_links') and relkind = 'r')
         and c.relkind in ('r', 'i')
       order by c.relname`,
    )
    all.push(...rows.map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) })))
  }
  return all
}
