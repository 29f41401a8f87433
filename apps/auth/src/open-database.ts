import { type ErrorLog, openPool, type ReservedPool, reservedPool } from '@plainpath/postgres'

/** Connections for what ends tokens, beside those of the pool. */
const KEPT_BACK = 2

/** The database of this app, with connections kept back for what ends tokens: `withReserved` gives them. */
export function openDatabase(url: string, log: ErrorLog): ReservedPool {
  const common = openPool(url, { applicationName: 'plainpath-auth', log })
  const applicationName = 'plainpath-auth revocation'
  return reservedPool(common, openPool(url, { max: KEPT_BACK, stay: true, applicationName, log }))
}
