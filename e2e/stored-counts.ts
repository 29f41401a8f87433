import { openPool } from '@plainpath/postgres'

interface CountRow extends Record<string, unknown> {
  readonly name: string
  readonly count: number
}

/** The tables that processes write without a request. */
const WRITTEN_WITHOUT_REQUESTS = new Set(['key_followers', 'guides', 'guide_versions', 'guide_reviews'])

/**
 * Opens a connection to each database, to count the rows of the tables that change only because of requests. Tables of
 * both databases with the same name, such as `mails`, are counted together.
 */
export async function openStoredCounts(system: { readonly adminUrls: Readonly<Record<string, string>> }) {
  await using opening = new AsyncDisposableStack()
  const counters: (() => Promise<readonly CountRow[]>)[] = []
  for (const url of Object.values(system.adminUrls)) {
    const db = opening.use(openPool(url, { max: 1, patience: 5 }))
    const { rows } = await db.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    )
    const countedTables = rows.filter(({ name }) => !WRITTEN_WITHOUT_REQUESTS.has(name))
    const selects = countedTables.map(
      ({ name }) => `select '${name}' as name, count(*)::int as count from ${name}`,
    )
    counters.push(async () => (await db.query<CountRow>(selects.join(' union all '))).rows)
  }
  const resources = opening.move()
  return {
    async count(): Promise<Counts> {
      const countRows = (await Promise.all(counters.map((count) => count()))).flat()
      const counts: Record<string, number> = {}
      for (const { name, count } of countRows) counts[name] = (counts[name] ?? 0) + count
      return counts
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
/** The number of rows by table. */
export type Counts = Readonly<Record<string, number>>
export type StoredCounts = Awaited<ReturnType<typeof openStoredCounts>>
