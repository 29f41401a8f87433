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
  let known: ReturnType<typeof parts.knowMark> | undefined
  const hop = () => (random.happens(0.05) ? random.between(0, 150) : random.between(0.1, 3))

  /** Sends a command to the store. While the store is unavailable there is no reply. */
  function ask<T>(step: () => T, then: (answer: T) => void): void {
    time.at(time.now() + hop(), () => {
      if (time.now() < world.storeAwayUntil) return
      const answer = step()
      time.at(time.now() + hop(), () => then(answer))
    })
  }

  function ensureMark(): void {
    ask(store.ensureMark, (mark) => (known = parts.knowMark(known, mark, local())))
    time.at(time.now() + 1_000, ensureMark)
  }
  ensureMark()

  return {
    introspect: (token) => ({ active: store.isActive(token), mark: known?.mark }),
    revoke(token, kind, onAnswered) {
      const ended: Revocation =
        kind === 'token' ? { kind, hash: token } : { kind: 'client', id: parseClient(token) }
      const answer = () => {
        if (!world.answeredAt.has(token)) world.answeredAt.set(token, time.now())
        onAnswered()
      }
      const publish = () => {
        const notice = store.publishRevocation(ended)
        for (const api of world.apis) api.publish(notice)
        return notice
      }
      const announce = () =>
        ask(publish, ({ mark, number }) => {
          const raised = { mark, number, at: local() }
          known = parts.knowMark(known, mark, raised.at)
          let looks = 0
          let seen: { mark: string; pending: number } | undefined
          const go = (): void => {
            const step = parts.nextStep(raised, { known: known!, looks, seen }, local(), INTERVALS)
            if (step.do === 'answer') return answer()
            if (step.do !== 'look') return ask(() => store.removePending(mark, number), answer)
            time.at(toGlobal(step.at), () =>
              ask(
                () => store.countPending(number),
                (found) => {
                  looks += 1
                  seen = found
                  go()
                },
              ),
            )
          }
          go()
        })
      ask(() => store.remove(token), announce)
    },
  }
}
