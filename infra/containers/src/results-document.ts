import { execFile } from 'node:child_process'
import os from 'node:os'
import { promisify } from 'node:util'
import type { Engine } from './engine.ts'
import type { ResultRow } from './proof.ts'
import type { Topology } from './run-topology.ts'

/** Formats the results page of a run. */
export async function renderResults(run: {
  topology: Topology
  sections: readonly [title: string, proofs: readonly ResultRow[]][]
  omittedServices: readonly string[]
  engine: Engine
}): Promise<string> {
  const { topology, sections, omittedServices, engine } = run
  const git = async (...words: string[]) => (await promisify(execFile)('git', words)).stdout.trim()
  const changes = await git('status', '--porcelain', '--untracked-files=no')
  const commit = `${await git('rev-parse', '--short=12', 'HEAD')}${changes ? ' and changes' : ''}`
  const engineVersion = await engine.podman('--version')
  const startRows = [...topology.startSeconds].map(
    ([name, seconds]) => `| ${name} | ${seconds.toFixed(1)} s |`,
  )
  const sectionTexts = sections.map(
    ([title, proofs]) => `## ${title}

| what | seen |
| --- | --- |
${proofs.map(({ subject, observed }) => `| ${subject} | ${observed} |`).join('\n')}
`,
  )
  return `# The topology of compose.yaml, run by an engine

\`npm run test:containers\` wrote this page at commit ${commit}, with ${engineVersion} and runc, on ${os.cpus().length} cores with a
load of ${os.loadavg()[1]?.toFixed(0)}. If the load exceeds the number of cores, times are longer than on an idle machine. [infra/README.md](../README.md#test-the-images-with-a-container-engine) says how to
run it and what the stand-ins for images do not show.${omittedServices.length > 0 ? ` Not started, because Debian has no package for a stand-in: ${omittedServices.join(', ')}.` : ''}

${sectionTexts.join('\n')}
## Start

All services were healthy ${topology.seconds.toFixed(1)} s after the first network was created. Each row is the time from the start of the container until
its health check succeeded, or until the job had ended.

| service | time |
| --- | ---: |
${startRows.join('\n')}
`
}
