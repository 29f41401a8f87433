import type { RunningApp } from '@plainpath/stack/start-app'

const operationsUrl = ({ ports }: Pick<RunningApp, 'ports'>, path: string) =>
  `http://127.0.0.1:${ports.operations}${path}`

/** Reads whether a process is ready, and which dependencies it awaits. Returns undefined if it does not listen. */
export async function readiness(
  app: Pick<RunningApp, 'ports'>,
): Promise<{ readonly ready: boolean; readonly awaited: Readonly<Record<string, string>> } | undefined> {
  const response = await fetch(operationsUrl(app, '/ready')).catch(() => undefined)
  if (!response) return undefined
  const { awaited = {} } = (await response.json()) as { awaited?: Record<string, string> }
  return { ready: response.status === 200, awaited }
}

/** Returns whether `/live` of a process responds with success within the time-out. */
export const isLive = (app: Pick<RunningApp, 'ports'>, timeoutMs: number): Promise<boolean> =>
  fetch(operationsUrl(app, '/live'), { signal: AbortSignal.timeout(timeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  )

/**
 * Sums the series of a metric. Returns NaN if there are none.
 *
 * @param label selects the series with this label, such as `decision="uncounted"`
 */
export async function metric(app: Pick<RunningApp, 'ports'>, name: string, label = ''): Promise<number> {
  const text = await (await fetch(operationsUrl(app, '/metrics'))).text()
  const series = [...text.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? (\\S+)`, 'gm'))]
  const chosen = series.filter(([, labels = '']) => labels.includes(label))
  return chosen.length > 0 ? chosen.reduce((sum, [, , value]) => sum + Number(value), 0) : Number.NaN
}
