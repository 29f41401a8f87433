import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AppName } from '@plainpath/metadata'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'
import type { RunningApp } from './start-app.ts'

const RULES = fileURLToPath(new URL('../../prometheus/rules.yaml', import.meta.url))

/** Starts Prometheus with the alert rules of the project. It scrapes every instance and stores its data in `folder`. */
export async function startPrometheus(options: {
  program: string
  port: number
  folder: string
  apps: { readonly auth: readonly RunningApp[]; readonly resource: readonly RunningApp[] }
  scrapeSeconds: number
}): Promise<ManagedProcess & { readonly url: string }> {
  const { port, folder, scrapeSeconds } = options
  const scrapeJob = (app: AppName) => ({
    job_name: app,
    static_configs: options.apps[app].map(({ name, ports }) => ({
      targets: [`127.0.0.1:${ports.operations}`],
      labels: { instance: name },
    })),
  })
  const configuration = {
    global: { scrape_interval: `${scrapeSeconds}s`, scrape_timeout: `${scrapeSeconds}s` },
    rule_files: [RULES],
    scrape_configs: [scrapeJob('auth'), scrapeJob('resource')],
  }
  // JSON is valid YAML.
  const file = path.join(folder, 'prometheus.json')
  await writeFile(file, JSON.stringify(configuration, null, 2))
  const prometheus = await startManagedProcess({
    name: 'prometheus',
    command: [
      options.program,
      `--config.file=${file}`,
      `--storage.tsdb.path=${path.join(folder, 'prometheus')}`,
      '--storage.tsdb.retention.time=2d',
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: {},
    logFile: path.join(folder, 'prometheus.log'),
    readyLine: 'Server is ready to receive web requests',
  })
  return Object.assign(prometheus, { url: `http://127.0.0.1:${port}` })
}
