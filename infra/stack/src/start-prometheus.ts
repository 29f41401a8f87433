import { rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AppName } from '@plainpath/metadata'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'
import type { RunningApp } from './start-app.ts'

const RULES = fileURLToPath(new URL('../../prometheus/rules.yaml', import.meta.url))

type Instances = Readonly<Record<AppName, readonly RunningApp[]>>

export interface Prometheus extends ManagedProcess {
  readonly url: string
  /** Replaces the list of scraped instances. Prometheus watches the list and notices the change. */
  setTargets(instances: Instances): Promise<void>
}

/** Starts Prometheus with the alert rules of the project. It scrapes every instance and stores its data in `folder`. */
export async function startPrometheus(options: {
  program: string
  port: number
  folder: string
  apps: Instances
  scrapeSeconds: number
}): Promise<Prometheus> {
  const { port, folder, scrapeSeconds } = options
  const toTargetsFile = (app: AppName) => path.join(folder, `prometheus-${app}.json`)
  const writeTargets = async (instances: Instances) => {
    for (const app of ['auth', 'resource'] as const) {
      const targets = instances[app].map(({ name, ports }) => ({
        targets: [`127.0.0.1:${ports.operations}`],
        labels: { instance: name },
      }))
      // The file is written under another name first, so that Prometheus never reads an incomplete file.
      const temporaryFile = `${toTargetsFile(app)}.tmp`
      await writeFile(temporaryFile, JSON.stringify(targets, null, 2))
      await rename(temporaryFile, toTargetsFile(app))
    }
  }
  let lastWrite: Promise<void> = Promise.resolve()
  // The writes run one after another, since concurrent ones would rename the same temporary file.
  const setTargets = (instances: Instances) => {
    lastWrite = lastWrite.catch(() => {}).then(() => writeTargets(instances))
    return lastWrite
  }
  const createScrapeJob = (app: AppName) => ({
    job_name: app,
    file_sd_configs: [{ files: [toTargetsFile(app)] }],
  })
  await setTargets(options.apps)
  const configuration = {
    global: { scrape_interval: `${scrapeSeconds}s`, scrape_timeout: `${scrapeSeconds}s` },
    rule_files: [RULES],
    scrape_configs: [createScrapeJob('auth'), createScrapeJob('resource')],
  }
  // JSON is valid YAML.
  const configFile = path.join(folder, 'prometheus.json')
  await writeFile(configFile, JSON.stringify(configuration, null, 2))
  const prometheus = await startManagedProcess({
    name: 'prometheus',
    command: [
      options.program,
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${path.join(folder, 'prometheus')}`,
      '--storage.tsdb.retention.time=2d',
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: {},
    logFile: path.join(folder, 'prometheus.log'),
    readyLine: 'Server is ready to receive web requests',
  })
  return Object.assign(prometheus, { url: `http://127.0.0.1:${port}`, setTargets })
}
