import type { Log } from '@plainpath/http'

const READ_INTERVAL_MS = 1_000

/** The client secret with which this API authenticates to the authorization server. The secret may change while the API runs. */
export interface WatchedClientSecret extends AsyncDisposable {
  current(): string
  /**
   * Returns a secret other than the rejected secret. If the rejected secret is the current one, reads the file immediately, and
   * returns the new secret if the file has changed, or else the previous secret.
   *
   * @returns undefined if there is no other secret
   */
  findAlternative(rejectedSecret: string): Promise<string | undefined>
}

/**
 * Watches RESOURCE_CLIENT_SECRET_FILE: reads it every second, and immediately after auth has rejected the current secret.
 * Concurrent rejections share one read. If no valid secret can be read, the secret does not change. The previous secret remains
 * available, because some instances of auth may not accept the new secret yet.
 */
export function watchClientSecret(deps: {
  /** The file's content at startup. */
  readonly initial: string
  /** @throws if the file cannot be read or contains no valid secret; the error does not quote the file */
  readonly read: () => Promise<string>
  /** The interval between reads; by default a second. */
  readonly intervalMs?: number
  readonly log: Log
}): WatchedClientSecret {
  const { log } = deps
  let currentSecret = deps.initial
  let previousSecret: string | undefined
  let lastReadFailed = false
  let pendingRead: Promise<void> | undefined

  async function readOnce(): Promise<void> {
    try {
      const content = await deps.read()
      if (lastReadFailed) log.info('a valid client secret can be read from the file again')
      lastReadFailed = false
      if (content === currentSecret) return
      previousSecret = currentSecret
      currentSecret = content
      log.info('a new client secret is in use')
    } catch (error) {
      if (!lastReadFailed)
        log.error('no valid client secret could be read from the file; the current secret remains in use', {
          reason: (error as NodeJS.ErrnoException).code ?? 'the content is not a valid secret',
        })
      lastReadFailed = true
    }
  }
  const read = () => {
    pendingRead ??= readOnce().finally(() => {
      pendingRead = undefined
    })
    return pendingRead
  }
  const timer = setInterval(() => void read(), deps.intervalMs ?? READ_INTERVAL_MS)
  return {
    current: () => currentSecret,
    async findAlternative(rejectedSecret) {
      if (currentSecret !== rejectedSecret) return currentSecret
      await read()
      return currentSecret === rejectedSecret ? previousSecret : currentSecret
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await pendingRead
    },
  }
}
