import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseOptions, USAGE } from './options.ts'
import { runBench } from './run-bench.ts'
import { moveToLoadCore } from './testbed/cores.ts'

try {
  const options = parseOptions(process.argv.slice(2))
  moveToLoadCore()
  // What runs is stopped in order, after the measurement under way.
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-bench-'))
  // As root the database server runs as another user, who must reach its folder below this one.
  await chmod(folder, 0o755)
  try {
    await runBench(options, { folder, say: (line) => console.log(line), signal: stopping.signal })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
} catch (error) {
  const isUsage = error instanceof Error && /^(--|Unknown option|Unexpected argument)/.test(error.message)
  console.error(isUsage ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode = isUsage ? 2 : 1
}
