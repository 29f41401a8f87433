import type { RunningApp } from '@plainpath/stack/start-app'

const addressOf = ({ ports }: Pick<RunningApp, 'ports'>, path: string) =>
  `http://127.0.0.1:${ports.operations}${path}`

/** Whether a process is ready, and what it waits for; undefined where nobody listens. */
export async function readiness(
  app: Pick<RunningApp, 'ports'>,
): Promise<{ readonly ready: boolean; readonly awaited: Readonly<Record<string, string>> } | undefined> {
  const answer = await fetch(addressOf(app, '/ready')).catch(() => undefined)
  if (!answer) return undefined
  const { awaited = {} } = (await answer.json()) as { awaited?: Record<string, string> }
  return { ready: answer.status === 200, awaited }
}

/** Whether a process says that it lives, within the time given. */
export const lives = (app: Pick<RunningApp, 'ports'>, timeoutMs: number): Promise<boolean> =>
  fetch(addressOf(app, '/live'), { signal: AbortSignal.timeout(timeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** The first value of a metric; NaN where there is none. */
export async function metric(app: Pick<RunningApp, 'ports'>, name: string): Promise<number> {
  const text = await (await fetch(addressOf(app, '/metrics'))).text()
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'm').exec(text)?.[1])
}
