import type { Revocation } from '@plainpath/revocation'
import { INTERVALS, type RevokingProcess, type World } from './world.ts'

const parseClient = (token: string) => token.split('/')[0]!

export function revokingProcess(
  world: World,
  clock: { readonly speed: number; readonly offset: number },
): RevokingProcess {
  const { time, random, store, parts } = world
  const local = () => clock.offset + time.now() * clock.speed
  const toGlobal = (at: number) => (at - clock.offset) / clock.speed
  let knownMark: ReturnType<typeof parts.knowMark> | undefined
  const hop = () => (random.happens(0.05) ? random.between(0, 150) : random.between(0.1, 3))

  /** Sends a command to the store. While the store is unavailable there is no reply. */
  function callStore<T>(step: () => T, then: (reply: T) => void): void {
    time.at(time.now() + hop(), () => {
      if (time.now() < world.storeAwayUntil) return
      const reply = step()
      time.at(time.now() + hop(), () => then(reply))
    })
  }

  function ensureMark(): void {
    callStore(store.ensureMark, (mark) => (knownMark = parts.knowMark(knownMark, mark, local())))
    time.at(time.now() + 1_000, ensureMark)
  }
  ensureMark()

  return {
    introspect: (token) => ({ active: store.isActive(token), mark: knownMark?.mark }),
    revoke(tokens, kind, onResponse) {
      const [first = ''] = tokens
      const ended: Revocation =
        kind === 'token' ? { kind, hash: first } : { kind: 'client', id: parseClient(first) }
      const respond = () => {
        for (const token of tokens)
          if (!world.respondedAt.has(token)) world.respondedAt.set(token, time.now())
        onResponse()
      }
      const publish = () => {
        const notice = store.publishRevocation(ended)
        for (const api of world.apis) api.publish(notice)
        return notice
      }
      const announce = () =>
        callStore(publish, ({ mark, number }) => {
          const raised = { mark, number, at: local() }
          knownMark = parts.knowMark(knownMark, mark, raised.at)
          let polls = 0
          let lastPoll: { mark: string; pending: number } | undefined
          const go = (): void => {
            const step = parts.nextStep(
              raised,
              { knownMark: knownMark!, polls, lastPoll },
              local(),
              INTERVALS,
            )
            if (step.do === 'respond') return respond()
            if (step.do !== 'poll') return callStore(() => store.removePending(mark, number), respond)
            time.at(toGlobal(step.at), () =>
              callStore(
                () => store.countPending(number),
                (found) => {
                  polls += 1
                  lastPoll = found
                  go()
                },
              ),
            )
          }
          go()
        })
      callStore(() => tokens.forEach(store.remove), announce)
    },
  }
}
