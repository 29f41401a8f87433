import type { RunningApp } from '@plainpath/stack/start-app'

const createOperationsUrl = ({ ports }: Pick<RunningApp, 'ports'>, path: string) =>
  `http://127.0.0.1:${ports.operations}${path}`

/**
 * Reads whether a process is ready. `awaited` maps the names of its failed checks to what is missing, such as `database` to
 * `PostgreSQL`, for the checks that report it. Returns undefined if the process does not listen.
 */
export async function readReadiness(
  app: Pick<RunningApp, 'ports'>,
): Promise<{ readonly ready: boolean; readonly awaited: Readonly<Record<string, string>> } | undefined> {
  const response = await fetch(createOperationsUrl(app, '/ready')).catch(() => undefined)
  if (!response) return undefined
  const { awaited = {} } = (await response.json()) as { awaited?: Record<string, string> }
  return { ready: response.status === 200, awaited }
}

/** Returns whether `/live` of a process responds successfully within the time-out. */
export const checkLive = (app: Pick<RunningApp, 'ports'>, timeoutMs: number): Promise<boolean> =>
  fetch(createOperationsUrl(app, '/live'), { signal: AbortSignal.timeout(timeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  )

/**
 * Reads a metric of a process: the sum of the selected series, or NaN if no series is selected.
 *
 * @param labelPair selects the series whose labels contain this text, such as `decision="uncounted"`; by default all series
 */
export async function readMetric(
  app: Pick<RunningApp, 'ports'>,
  name: string,
  labelPair = '',
): Promise<number> {
  const text = await (await fetch(createOperationsUrl(app, '/metrics'))).text()
  const series = [...text.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? (\\S+)`, 'gm'))]
  const selectedSeries = series.filter(([, labels = '']) => labels.includes(labelPair))
  const values = selectedSeries.map(([, , value]) => Number(value))
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) : Number.NaN
}
