import { openPool } from '@plainpath/postgres'

interface CountRow extends Record<string, unknown> {
  readonly name: string
  readonly count: number
}

/** The tables that processes write at any time, without a request. */
const WRITTEN_WITHOUT_REQUESTS = new Set(['key_followers', 'guides', 'guide_versions', 'guide_reviews'])

/** Opens connections to both databases, to count the rows of each table. */
export async function openStoredCounts(system: { readonly adminUrls: Readonly<Record<string, string>> }) {
  await using opening = new AsyncDisposableStack()
  const counters: (() => Promise<readonly CountRow[]>)[] = []
  for (const url of Object.values(system.adminUrls)) {
    const db = opening.use(openPool(url, { max: 1, patience: 5 }))
    const { rows } = await db.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    )
    const requestedRows = rows.filter(({ name }) => !WRITTEN_WITHOUT_REQUESTS.has(name))
    const selects = requestedRows.map(
      ({ name }) => `select '${name}' as name, count(*)::int as count from ${name}`,
    )
    counters.push(async () => (await db.query<CountRow>(selects.join(' union all '))).rows)
  }
  const resources = opening.move()
  return {
    async count(): Promise<Counts> {
      const countRows = await Promise.all(counters.map((count) => count()))
      return Object.fromEntries(countRows.flat().map(({ name, count }) => [name, count]))
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
/** The number of rows in each table. */
export type Counts = Readonly<Record<string, number>>
export type StoredCounts = Awaited<ReturnType<typeof openStoredCounts>>
