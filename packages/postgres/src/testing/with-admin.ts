import type pg from 'pg'
import { connect, disconnect } from '../connection.ts'

export const ADMIN_STATEMENT_MS = 40_000

/** @param adminUrl of an administrator of the server */
export async function withAdmin<T>(adminUrl: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = await connect(adminUrl, {
    applicationName: 'plainpath test',
    statementMs: ADMIN_STATEMENT_MS,
  })
  try {
    return await work(admin)
  } finally {
    await disconnect(admin)
  }
}
