import { rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AppName } from '@plainpath/metadata'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'
import type { RunningApp } from './start-app.ts'

const ALERT_RULES_FILE = fileURLToPath(new URL('../../prometheus/rules.yaml', import.meta.url))

type Instances = Readonly<Record<AppName, readonly RunningApp[]>>

export interface Prometheus extends ManagedProcess {
  readonly url: string
  /** Replaces the list of scraped instances. Prometheus watches the files of the list, so it need not be restarted. */
  setTargets(instances: Instances): Promise<void>
}

/**
 * Starts Prometheus on loopback, with the alert rules of the project, and waits until it is ready. It scrapes every instance. A
 * new start with the same folder keeps the data.
 */
export async function startPrometheus(options: {
  /** The path of the executable. */
  program: string
  port: number
  /** The existing folder for the configuration, the data and the log. */
  folder: string
  instances: Instances
  /** The interval between two scrapes of an instance, which is also the time-out of a scrape. */
  scrapeSeconds: number
}): Promise<Prometheus> {
  const { port, folder, scrapeSeconds } = options
  const getTargetsPath = (app: AppName) => path.join(folder, `prometheus-${app}.json`)
  const writeTargets = async (instances: Instances) => {
    for (const app of ['auth', 'resource'] as const) {
      const targets = instances[app].map(({ name, ports }) => ({
        targets: [`127.0.0.1:${ports.operations}`],
        labels: { instance: name },
      }))
      // The file is written under another name first, so that Prometheus never reads an incomplete file.
      const temporaryFile = `${getTargetsPath(app)}.tmp`
      await writeFile(temporaryFile, JSON.stringify(targets, null, 2))
      await rename(temporaryFile, getTargetsPath(app))
    }
  }
  // The writes run one after another, since concurrent ones would write and rename the same temporary file.
  let lastWrite: Promise<void> = Promise.resolve()
  const setTargets = (instances: Instances) => {
    // The caller of the previous write handles its failure. The next write does not depend on it.
    lastWrite = lastWrite.catch(() => {}).then(() => writeTargets(instances))
    return lastWrite
  }
  const createScrapeJob = (app: AppName) => ({
    job_name: app,
    file_sd_configs: [{ files: [getTargetsPath(app)] }],
  })
  await setTargets(options.instances)
  const configuration = {
    global: { scrape_interval: `${scrapeSeconds}s`, scrape_timeout: `${scrapeSeconds}s` },
    rule_files: [ALERT_RULES_FILE],
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
