import { type ErrorLog, openPool, type ReservedPool, reservedPool } from '@plainpath/postgres'

/** Connections for what ends tokens, beside those of the pool. */
const KEPT_BACK = 2

/** The database of this app, with connections kept back for what ends tokens: `withReserved` gives them. */
export function openDatabase(
  url: string,
  options: { log: ErrorLog; patience?: number | undefined },
): ReservedPool {
  const common = openPool(url, { ...options, applicationName: 'plainpath-auth' })
  const applicationName = 'plainpath-auth revocation'
  return reservedPool(common, openPool(url, { ...options, max: KEPT_BACK, stay: true, applicationName }))
}
