import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { waitForShutdownSignal } from '@plainpath/http'
import { LocalError } from '@plainpath/local/settings'
import type { AppName } from '@plainpath/metadata'
import { addToStack, isStackRunning, serveAdditions } from './added-instances.ts'
import { findDebianPrograms } from './debian-program.ts'
import { createPostgresProcess } from './postgres-process.ts'
import { refuseBusyPorts } from './refuse-busy-ports.ts'
import { parseStackCommand, STACK_USAGE, type StackCommand } from './stack-command.ts'
import { writeStackEnv } from './stack-env.ts'
import { assignFixedPorts, findFreeStackPorts, listPorts, MAX_INSTANCES } from './stack-ports.ts'
import { startMailbox } from './start-mailbox.ts'
import { type Prometheus, startPrometheus } from './start-prometheus.ts'
import { type Stack, startStack } from './start-stack.ts'
import { type SupervisedProcess, superviseProcess } from './supervise-process.ts'

/** The root of the check-out, with a slash at its end. */
const projectFolder = fileURLToPath(new URL('../../..', import.meta.url))
const print = (line: string) => console.log(line)
const printError = (line: string) => console.error(line)

async function runStack(startCommand: Extract<StackCommand, { kind: 'start' }>): Promise<void> {
  const { port, folder, instances, basePort, processEnv } = startCommand
  const shutdownSignal = waitForShutdownSignal()
  print('Starting the whole topology as plain processes')
  // Caddy and Redis are found again where they are started. They are looked for here too, so that one error names all missing programs.
  const programs = await findDebianPrograms(
    ['prometheus', 'caddy', 'redis-server'],
    process.env['PATH'] ?? '',
  )
  if (await isStackRunning(folder))
    throw new LocalError(
      `Another stack serves ${folder}. Stop it, set DATA_DIR to another directory, or add an instance to it with --add.`,
    )
  await refuseBusyPorts([{ port, process: 'the gateway' }], 'set PORT to another port')
  const ports = basePort === undefined ? await findFreeStackPorts(MAX_INSTANCES) : assignFixedPorts(basePort)
  // The gateway is also configured for instances that may be added, so their ports must be free too.
  const maxInstances = { auth: MAX_INSTANCES, resource: MAX_INSTANCES }
  if (basePort !== undefined)
    await refuseBusyPorts(listPorts(ports, maxInstances), 'set --base-port to another port')
  await using mailbox = await startMailbox(ports.mailbox, ports.smtp)
  const settings = {
    ...startCommand.settings,
    AUTH_SMTP_URL: mailbox.smtpUrl,
    RESOURCE_SMTP_URL: mailbox.smtpUrl,
  }
  await using stack = await startStack({
    port,
    ports,
    folder,
    instances,
    maxInstances: MAX_INSTANCES,
    settings,
    processEnvFor: () => processEnv,
    print,
  })
  print(`Mail           ${mailbox.url}`)
  await using prometheus = await startPrometheus({
    program: programs.prometheus,
    port: ports.prometheus,
    folder,
    instances: stack,
    scrapeSeconds: 5,
  })
  print(`Prometheus     ${prometheus.url}`)
  const supervise = (supervised: SupervisedProcess) =>
    superviseProcess(supervised, { print, shouldRestart: startCommand.shouldRestart })
  using supervision = new DisposableStack()
  for (const supervised of [...stack.auth, ...stack.resource, stack.gateway, stack.redis, prometheus])
    supervision.use(supervise(supervised))
  supervision.use(supervise(toSupervisedPostgres(stack)))
  await using _additions = await serveAdditions(folder, (app) =>
    addInstance(app, { stack, prometheus, supervise }),
  )
  for (const [name, url] of Object.entries(startCommand.settings)) print(`Traces         ${url}  (${name})`)
  const env = await writeStackEnv(folder, stack.env)
  const folderPrefix = folder === path.join(projectFolder, '.data/stack') ? '' : `DATA_DIR=${folder} `
  print(`\nReady: ${stack.origin}. Ctrl-C stops everything; the data stays in ${folder}.`)
  print(`Commands:  ${folderPrefix}npm run stack:auth -- keys list`)
  print(`           ${folderPrefix}npm run stack:resource -- guides list`)
  print(`           ${folderPrefix}npm run stack -- --add resource`)
  print(`Settings:  ${env} (it contains passwords, and only you can read it)`)
  await shutdownSignal
  print('Stopping')
}

/** Starts one more instance, supervises it, and lets Prometheus scrape it. */
async function addInstance(
  app: AppName,
  {
    stack,
    prometheus,
    supervise,
  }: {
    stack: Stack
    prometheus: Prometheus
    supervise: (supervised: SupervisedProcess) => Disposable
  },
) {
  const instance = await stack.addInstance(app)
  await prometheus.setTargets(stack).catch(async (error: unknown) => {
    await stack.removeInstance(app, instance)
    throw error
  })
  const supervision = supervise(instance)
  const { public: publicPort, operations } = instance.ports
  return {
    announcement: `${instance.name} listens on 127.0.0.1:${publicPort}, operations on 127.0.0.1:${operations}, and is behind ${stack.origin}. Ctrl-C stops it. Log: ${instance.logFile}`,
    async [Symbol.asyncDispose]() {
      supervision[Symbol.dispose]()
      print(`${instance.name} is leaving the stack`)
      await stack.removeInstance(app, instance)
      await prometheus.setTargets(stack)
    },
  }
}

const POSTGRES_POLL_MS = 500

/** Adapts PostgreSQL for supervision. It is not a child of this process, so only polling shows that it has ended. */
function toSupervisedPostgres({ postgres }: Stack): SupervisedProcess {
  const server = createPostgresProcess(postgres)
  return {
    name: 'PostgreSQL',
    logFile: postgres.dir,
    async waitForCrash(signal) {
      // The pause rejects when `signal` is aborted, and the loop then ends.
      while (server.isRunning && !signal.aborted)
        await sleep(POSTGRES_POLL_MS, undefined, { signal }).catch(() => {})
      return 'its process is gone'
    },
    async start(signal) {
      await server.start()
      if (signal.aborted) await server.stop('SIGINT')
    },
  }
}

/** Errors whose message names the remedy. Other errors are printed with their stack. */
const ONE_LINE_ERRORS = new Set(['MissingPrograms', 'EmbeddedPostgresError', 'LocalError'])

const command = parseStackCommand(process.argv.slice(2), process.env, projectFolder)
if (command.kind === 'help') print(STACK_USAGE)
else if (command.kind === 'usage-error') {
  printError(command.text)
  process.exitCode = 2
} else {
  try {
    if (command.kind === 'add') {
      const { app, folder } = command
      process.exitCode = await addToStack(app, {
        folder,
        stopRequested: waitForShutdownSignal(),
        print,
        printError,
      })
    } else await runStack(command)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    printError((ONE_LINE_ERRORS.has(error.name) ? error.message : error.stack) ?? '')
    process.exitCode = 1
  }
}
