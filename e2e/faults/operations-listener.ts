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

/**
 * The sum of a metric's series; NaN where there is none.
 *
 * @param label only the series with this label, such as `decision="uncounted"`
 */
export async function metric(app: Pick<RunningApp, 'ports'>, name: string, label = ''): Promise<number> {
  const text = await (await fetch(addressOf(app, '/metrics'))).text()
  const series = [...text.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? (\\S+)`, 'gm'))]
  const chosen = series.filter(([, labels = '']) => labels.includes(label))
  return chosen.length > 0 ? chosen.reduce((sum, [, , value]) => sum + Number(value), 0) : Number.NaN
}
