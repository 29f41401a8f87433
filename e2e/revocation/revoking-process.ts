import type { Revocation } from '@plainpath/revocation'
import { INTERVALS, type RevokingProcess, type World } from './world.ts'

/** Returns the client of a token. Tokens are named `client-<index>/<number>`. */
const parseClientId = (token: string) => token.split('/')[0]!

/**
 * Simulates an auth process that runs the code under test.
 *
 * @param clock the process's clock: its speed relative to virtual time, and the time that it shows at the start
 */
export function createRevokingProcess(
  world: World,
  clock: { readonly speed: number; readonly offsetMs: number },
): RevokingProcess {
  const { time, random, store, codeUnderTest } = world
  const readLocalTime = () => clock.offsetMs + time.now() * clock.speed
  const toGlobalTime = (localTime: number) => (localTime - clock.offsetMs) / clock.speed
  let knownMark: ReturnType<typeof codeUnderTest.updateKnownMark> | undefined
  /** Draws the time that a message takes in one direction. */
  const drawHopMs = () => (random.happens(0.05) ? random.between(0, 150) : random.between(0.1, 3))

  /** Sends a command to the store. While the store is unavailable, the command is lost and gets no reply. */
  function callStore<T>(command: () => T, onReply: (reply: T) => void): void {
    time.at(time.now() + drawHopMs(), () => {
      if (time.now() < world.storeUnavailableUntil) return
      const reply = command()
      time.at(time.now() + drawHopMs(), () => onReply(reply))
    })
  }

  /** Reads the mark now and once a second. The store creates it if it has none. */
  function ensureMark(): void {
    callStore(
      store.ensureMark,
      (mark) => (knownMark = codeUnderTest.updateKnownMark(knownMark, mark, readLocalTime())),
    )
    time.at(time.now() + 1_000, ensureMark)
  }
  ensureMark()

  return {
    introspect: (token) => ({ active: store.isActive(token), mark: knownMark?.mark }),
    revoke(tokens, kind, onResponse) {
      const [firstToken = ''] = tokens
      // In the model, a token stands for its own hash.
      const revocation: Revocation =
        kind === 'token' ? { kind, hash: firstToken } : { kind: 'client', id: parseClientId(firstToken) }
      const respond = () => {
        for (const token of tokens)
          if (!world.respondedAt.has(token)) world.respondedAt.set(token, time.now())
        onResponse()
      }
      const publish = () => {
        const notification = store.publishRevocation(revocation)
        for (const api of world.apis) api.deliver(notification)
        return notification
      }
      const publishAndWait = () =>
        callStore(publish, ({ mark, number: sequenceNumber }) => {
          const published = { mark, sequenceNumber, publishedAt: readLocalTime() }
          knownMark = codeUnderTest.updateKnownMark(knownMark, mark, published.publishedAt)
          let pollCount = 0
          let lastPoll: { mark: string; pending: number } | undefined
          const proceed = (): void => {
            const step = codeUnderTest.decideNextStep(
              published,
              { knownMark: knownMark!, pollCount, lastPoll },
              readLocalTime(),
              INTERVALS,
            )
            if (step.kind === 'respond') return respond()
            if (step.kind === 'remove-pending-then-respond')
              return callStore(() => store.removePending(mark, sequenceNumber), respond)
            time.at(toGlobalTime(step.at), () =>
              callStore(
                () => store.countPending(sequenceNumber),
                (poll) => {
                  pollCount += 1
                  lastPoll = poll
                  proceed()
                },
              ),
            )
          }
          proceed()
        })
      callStore(() => tokens.forEach(store.remove), publishAndWait)
    },
  }
}
