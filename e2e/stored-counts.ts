import { openPool } from '@plainpath/postgres'

interface Counted extends Record<string, unknown> {
  readonly name: string
  readonly count: number
}

/** The tables that processes write at any time, without a request. */
const WRITTEN_WITHOUT_REQUESTS = new Set(['key_followers', 'guides', 'guide_versions', 'guide_reviews'])

/** Counts the rows of both apps by table. */
export async function openStoredCounts(system: { readonly adminUrls: Readonly<Record<string, string>> }) {
  await using opening = new AsyncDisposableStack()
  const counters: (() => Promise<readonly Counted[]>)[] = []
  for (const url of Object.values(system.adminUrls)) {
    const db = opening.use(openPool(url, { max: 1 }))
    const { rows } = await db.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    )
    const requestedRows = rows.filter(({ name }) => !WRITTEN_WITHOUT_REQUESTS.has(name))
    const parts = requestedRows.map(
      ({ name }) => `select '${name}' as name, count(*)::int as count from ${name}`,
    )
    counters.push(async () => (await db.query<Counted>(parts.join(' union all '))).rows)
  }
  const resources = opening.move()
  return {
    async count(): Promise<Counts> {
      const counted = await Promise.all(counters.map((count) => count()))
      return Object.fromEntries(counted.flat().map(({ name, count }) => [name, count]))
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
/** Counts the rows of each table. */
export type Counts = Readonly<Record<string, number>>
export type StoredCounts = Awaited<ReturnType<typeof openStoredCounts>>
