import type { Log } from '@plainpath/http'

const READ_MS = 1_000

/**
 * Follows RESOURCE_CLIENT_SECRET_FILE by reading it again and again, and at once when the secret is refused; any number of
 * refusals at once share one reading. A file that cannot be read changes nothing. The secret before is kept, since the file
 * may have been changed before every instance of the authorization server knew of it.
 */
export function followClientSecret(deps: {
  /** What the file held at the start. */
  readonly first: string
  /** @throws when the file cannot be read, or holds no secret; never quoting it */
  readonly read: () => Promise<string>
  /** How often the file is read. */
  readonly readMs?: number
  readonly log: Log
}) {
  const { log } = deps
  let secret = deps.first
  let before: string | undefined
  let failed = false
  let running: Promise<void> | undefined

  async function readOnce(): Promise<void> {
    try {
      const found = await deps.read()
      if (failed) log.info('the client secret can be read again')
      failed = false
      if (found === secret) return
      before = secret
      secret = found
      log.info('uses another client secret')
    } catch (error) {
      if (!failed)
        log.error('the client secret cannot be read: the one before is used', {
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
  const timer = setInterval(() => void read(), deps.readMs ?? READ_MS)
  return {
    current: () => secret,
    /**
     * Another secret than the one that was refused: the file's, which is read at once, or else the one before it.
     *
     * @returns undefined when there is none
     */
    async insteadOf(refused: string): Promise<string | undefined> {
      if (secret !== refused) return secret
      await read()
      return secret === refused ? before : secret
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}

/** The secret with which this API introspects. It may be changed while the API runs. */
export type FollowedClientSecret = ReturnType<typeof followClientSecret>
