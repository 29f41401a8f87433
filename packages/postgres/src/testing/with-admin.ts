import type pg from 'pg'
import { connect, disconnect } from '../connection.ts'

const STATEMENT_MS = 40_000

/** @param adminUrl of an administrator of the server */
export async function withAdmin<T>(adminUrl: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = await connectAdmin(adminUrl)
  try {
    return await work(admin)
  } finally {
    await disconnect(admin)
  }
}

export const connectAdmin = (adminUrl: string): Promise<pg.Client> =>
  connect(adminUrl, { applicationName: 'plainpath test', statementMs: STATEMENT_MS })
