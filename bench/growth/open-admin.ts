import pg from 'pg'

export interface Admin extends AsyncDisposable {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

/** A connection whose statements may take as long as a million rows take. */
export async function openAdmin(url: string): Promise<Admin> {
  const client = new pg.Client({ connectionString: url, application_name: 'plainpath bench' })
  await client.connect()
  return {
    query: (text, values) => client.query<Record<string, unknown>>(text, values as unknown[] | undefined),
    [Symbol.asyncDispose]: () => client.end(),
  }
}
