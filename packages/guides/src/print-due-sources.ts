import process from 'node:process'
import { loadGuides } from './load-guides.ts'
import { summarizeFreshness } from './source-status.ts'

/** Prints a line for each source that becomes stale within 30 days. `npm run check` shows them. */
for (const { state, freshUntil, owner, url } of summarizeFreshness(loadGuides(), new Date()).sources) {
  if (state === 'due') process.stdout.write(`to be read by ${freshUntil} (${owner}): ${url}\n`)
}
