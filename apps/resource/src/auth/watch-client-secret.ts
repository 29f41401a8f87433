import type { Log } from '@plainpath/http'

const READ_INTERVAL_MS = 1_000

/**
 * Reads RESOURCE_CLIENT_SECRET_FILE every second, and at once when the authorization server rejects the secret; concurrent
 * rejections share one read. If the file cannot be read, the secret stays as it is. The previous secret is kept too, since the
 * file may change before every instance of the authorization server accepts the new secret.
 */
export function watchClientSecret(deps: {
  /** The content of the file at the start. */
  readonly initial: string
  /** @throws when the file cannot be read or holds no secret; the error does not quote the file */
  readonly read: () => Promise<string>
  /** The interval between reads. */
  readonly intervalMs?: number
  readonly log: Log
}) {
  const { log } = deps
  let secret = deps.initial
  let previous: string | undefined
  let failed = false
  let running: Promise<void> | undefined

  async function readOnce(): Promise<void> {
    try {
      const found = await deps.read()
      if (failed) log.info('can read the client secret again')
      failed = false
      if (found === secret) return
      previous = secret
      secret = found
      log.info('uses a new client secret')
    } catch (error) {
      if (!failed)
        log.error('cannot read the client secret; continues with the previous one', {
          reason: (error as NodeJS.ErrnoException).code ?? 'its content is not valid',
        })
      failed = true
    }
  }
  const read = () => {
    running ??= readOnce().finally(() => {
      running = undefined
    })
    return running
  }
  const timer = setInterval(() => void read(), deps.intervalMs ?? READ_INTERVAL_MS)
  return {
    current: () => secret,
    /**
     * Returns another secret than the rejected one: the content of the file, read at once, or else the previous secret.
     *
     * @returns undefined when there is no other secret
     */
    async alternativeTo(rejected: string): Promise<string | undefined> {
      if (secret !== rejected) return secret
      await read()
      return secret === rejected ? previous : secret
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}

/** The secret with which this API authenticates to the authorization server. It may change while the API runs. */
export type WatchedClientSecret = ReturnType<typeof watchClientSecret>
