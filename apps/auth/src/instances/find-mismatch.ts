/*
 * Compares the token store, the key-encryption key and the origin of a command with those that the running instances report. If
 * they differ, the command must change nothing.
 */
import type { TokenStoreIdentity, TokenStoreSettings } from '../tokens/token-store-identity.ts'

/** The origin, keys and token store that a command would use. */
export interface CommandTarget {
  readonly origin: string
  /** Undefined for a command that uses no tokens. Such a command may run on a machine that cannot reach Redis. */
  readonly tokens: UsedTokenStore | undefined
  /** The key-encryption key under which the command encrypts; undefined for a command that encrypts nothing. */
  readonly kekId: string | undefined
}

interface UsedTokenStore {
  readonly settings: TokenStoreSettings
  /** The random id of its Redis; undefined without Redis, or if that Redis has none. */
  readonly redisId: string | undefined
}

/** The report of a running instance. An instance of an earlier release omits some members. */
export interface InstanceReport {
  readonly host: string
  readonly origin?: string | undefined
  readonly tokenStore?: TokenStoreIdentity | undefined
  readonly kekIds?: readonly string[] | undefined
}

/**
 * Finds a difference that would make a command ineffective, or its data unreadable for the instances.
 *
 * @param instances the running instances
 * @param lastTokenStore the store in the last report of any instance, running or not; undefined before the first report. It is
 *   compared if no running instance reports its store
 * @returns a sentence that says what to set; undefined if nothing differs
 */
export function findMismatch(
  target: CommandTarget,
  instances: readonly InstanceReport[],
  lastTokenStore: TokenStoreIdentity | undefined,
): string | undefined {
  const runningStores = instances.flatMap(({ host, tokenStore }) =>
    tokenStore ? [{ host, tokenStore, isRunning: true }] : [],
  )
  const lastStores = lastTokenStore
    ? [{ host: 'The last instance', tokenStore: lastTokenStore, isRunning: false }]
    : []
  for (const { host, tokenStore, isRunning } of runningStores.length > 0 ? runningStores : lastStores) {
    const mismatch = target.tokens && describeStoreMismatch(target.tokens, { tokenStore, isRunning })
    if (mismatch) return `${host} ${mismatch}`
  }
  for (const { host, origin } of instances)
    if (origin !== undefined && origin !== target.origin)
      return `${host} serves ${origin}, but AUTH_ORIGIN is ${target.origin}. ${describeOriginRemedy(origin)}`
  const { kekId } = target
  if (kekId === undefined) return undefined
  const instancesWithoutKey = instances.filter(
    ({ kekIds }) => kekIds !== undefined && !kekIds.includes(kekId),
  )
  if (instancesWithoutKey.length > 0)
    return `${instancesWithoutKey.map(({ host }) => host).join(', ')} cannot decrypt what the first key in AUTH_KEK_FILE encrypts. Set AUTH_KEK_FILE to the file that the instances use. A new key must be in the file of every instance before a command uses it.`
  return undefined
}

function describeStoreMismatch(
  { settings: commandStore, redisId }: UsedTokenStore,
  {
    tokenStore: instanceStore,
    isRunning,
  }: { readonly tokenStore: TokenStoreIdentity; readonly isRunning: boolean },
): string | undefined {
  if (instanceStore.kind === 'postgresql')
    return commandStore.kind === 'postgresql'
      ? undefined
      : 'stores tokens in PostgreSQL, but AUTH_REDIS_URL is set. Unset it.'
  const instanceText = `stores tokens in Redis at ${instanceStore.address}, database ${instanceStore.database}`
  if (commandStore.kind === 'postgresql')
    return `${instanceText}, but AUTH_REDIS_URL is not set. Set it to that Redis.`
  if (commandStore.database !== instanceStore.database)
    return `${instanceText}, but AUTH_REDIS_URL names database ${commandStore.database}. Set it to that database.`
  if (commandStore.prefix !== instanceStore.prefix)
    return `${instanceText}, under keys that begin with ${instanceStore.prefix}, but this command uses ${commandStore.prefix}. Run the command of that service instead.`
  // Only instances give Redis an id. While none runs, a Redis that lost its data has none, so the address is compared instead.
  const isRestarted = redisId === undefined && !isRunning && commandStore.address === instanceStore.address
  return redisId === instanceStore.id || isRestarted
    ? undefined
    : `${instanceText}, but AUTH_REDIS_URL names another Redis. Set it to the Redis that the instance uses.`
}

/** Describes how to set the origin. For an `http:` origin with a port, also names the variables of `npm run auth`. */
function describeOriginRemedy(origin: string): string {
  const { protocol, port } = new URL(origin)
  const localRemedy =
    protocol === 'http:' && port ? ` With npm run auth: PORT=${port}, or ORIGIN=${origin}.` : ''
  return `Set AUTH_ORIGIN to the origin of the instances.${localRemedy}`
}
