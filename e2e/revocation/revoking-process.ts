import type { Revocation } from '@plainpath/revocation'
import { INTERVALS, type RevokingProcess, type World } from './world.ts'

const parseClientId = (token: string) => token.split('/')[0]!

/**
 * Creates an auth process with the code under test.
 *
 * @param clock the relative speed of the process's clock, and its offset in ms
 */
export function createRevokingProcess(
  world: World,
  clock: { readonly speed: number; readonly offset: number },
): RevokingProcess {
  const { time, random, store, parts } = world
  const readLocalTime = () => clock.offset + time.now() * clock.speed
  const toGlobalTime = (at: number) => (at - clock.offset) / clock.speed
  let knownMark: ReturnType<typeof parts.updateKnownMark> | undefined
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
      (mark) => (knownMark = parts.updateKnownMark(knownMark, mark, readLocalTime())),
    )
    time.at(time.now() + 1_000, ensureMark)
  }
  ensureMark()

  return {
    introspect: (token) => ({ active: store.isActive(token), mark: knownMark?.mark }),
    revoke(tokens, kind, onResponse) {
      const [firstToken = ''] = tokens
      const revocation: Revocation =
        kind === 'token' ? { kind, hash: firstToken } : { kind: 'client', id: parseClientId(firstToken) }
      const respond = () => {
        for (const token of tokens)
          if (!world.respondedAt.has(token)) world.respondedAt.set(token, time.now())
        onResponse()
      }
      const publish = () => {
        const notification = store.publishRevocation(revocation)
        for (const api of world.apis) api.publish(notification)
        return notification
      }
      const publishAndWait = () =>
        callStore(publish, ({ mark, number: sequenceNumber }) => {
          const published = { mark, sequenceNumber, publishedAt: readLocalTime() }
          knownMark = parts.updateKnownMark(knownMark, mark, published.publishedAt)
          let pollCount = 0
          let lastPoll: { mark: string; pending: number } | undefined
          const proceed = (): void => {
            const step = parts.decideNextStep(
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
