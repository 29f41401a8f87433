import { writeFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { CredentialOperations } from './credential-operations.ts'
import { credentialsJson, credentialsText } from './credential-report.ts'
import { createResourceServer, ResourceServer } from './resource-servers.ts'

export interface ResourceServersCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  /** @param options.exclusive while nobody else changes the file */
  operations<T>(
    work: (operations: CredentialOperations) => Promise<T>,
    options: { exclusive: boolean; serversFile?: string | undefined; timeoutMs?: number | undefined },
  ): Promise<T>
}

interface Options {
  json?: boolean
  dryRun?: boolean
  secretFile: string
  serversFile?: string
  timeout?: number
  replace?: boolean
  callOff?: boolean
  evenIfUsed?: boolean
}

const SERVERS_FILE = [
  '--servers-file <path>',
  'change this copy of the file in AUTH_RESOURCE_SERVERS_FILE, which you put in place: where that cannot be written',
] as const

const timeoutOption = () =>
  new Option(
    '--timeout <seconds>',
    'how long to wait for every instance (default: AUTH_KEYS_LEASE_SECONDS + 10)',
  ).argParser(parseSeconds)

/** `auth resource-servers create | list | rotate | finish`: the credentials with which APIs introspect. */
export function addResourceServersCommand(program: Command, deps: ResourceServersCommandDeps): void {
  const { io, operations } = deps
  const command = program.command('resource-servers').description('APIs that may introspect tokens')
  addCreate(command, deps)
  addRotate(command, deps)
  addFinish(command, deps)
  command
    .command('list')
    .description('each of them, how old its secrets are, when they were used, and which instance follows')
    .option('--json', 'for programs')
    .action(async (options: Options) => {
      const view = await operations((all) => all.view(), { exclusive: false })
      io.print(options.json ? JSON.stringify(credentialsJson(view)) : credentialsText(view))
    })
}

const operationOptions = ({ serversFile, timeout }: Options) => ({
  serversFile,
  timeoutMs: timeout === undefined ? undefined : timeout * 1_000,
})

const running = (hosts: readonly string[], what: string) =>
  hosts.length > 0 ? `${what}: ${hosts.join(', ')}` : 'No instance of the server runs.'

function answers({ io, refuse }: ResourceServersCommandDeps) {
  return {
    say: (options: Options, json: object, text: string) =>
      io.print(options.json ? JSON.stringify({ ok: true, ...json }) : text),
    refused: (options: Options, reason: string) => {
      if (options.json) io.print(JSON.stringify({ ok: false, reason }))
      return refuse(reason)
    },
  }
}

function addRotate(command: Command, deps: ResourceServersCommandDeps): void {
  const { say, refused } = answers(deps)
  command
    .command('rotate')
    .argument('<client_id>', 'rs_ and more', idOf)
    .description('add a second secret; when every instance accepts it, write it where the API reads it')
    .requiredOption('--secret-file <path>', 'the file that the API reads')
    .option('--replace', 'when there is such a file')
    .option(...SERVERS_FILE)
    .addOption(timeoutOption())
    .option('--dry-run', 'say what would be done, and change nothing')
    .option('--json', 'for programs')
    .action(async (clientId: string, options: Options) => {
      const { secretFile, replace = false, dryRun: trial = false } = options
      const done = await deps.operations((all) => all.rotate(clientId, { secretFile, replace, trial }), {
        exclusive: true,
        ...operationOptions(options),
      })
      if (!done.ok) throw refused(options, done.error)
      const { fingerprint, instances, resumed } = done.value
      if (trial)
        return say(
          options,
          { done: false, resumes: resumed, instances },
          `Would ${resumed ? 'go on to ' : ''}give ${clientId} a second secret. ${running(instances, 'Running')}`,
        )
      say(
        options,
        { done: true, fingerprint, resumed, instances },
        [
          `${clientId} has a second secret, ${fingerprint}, in ${secretFile}. Both are good.`,
          running(instances, 'Accepted by'),
          `When the API uses it: resource-servers finish ${clientId}`,
        ].join('\n'),
      )
    })
}

function addFinish(command: Command, deps: ResourceServersCommandDeps): void {
  const { say, refused } = answers(deps)
  command
    .command('finish')
    .argument('<client_id>', 'rs_ and more', idOf)
    .description('take the older secret away, once nobody uses it')
    .option('--call-off', 'take the newer one away instead')
    .addOption(
      new Option(
        '--even-if-used',
        'after a leak: also while somebody, who may be its thief, still shows it',
      ).conflicts('callOff'),
    )
    .option(...SERVERS_FILE)
    .addOption(timeoutOption())
    .option('--dry-run', 'say what would be done, and change nothing')
    .option('--json', 'for programs')
    .action(async (clientId: string, options: Options) => {
      const { callOff, evenIfUsed = false, dryRun: trial = false } = options
      const which = callOff ? 'newer' : 'older'
      const done = await deps.operations((all) => all.finish(clientId, { which, evenIfUsed, trial }), {
        exclusive: true,
        ...operationOptions(options),
      })
      if (!done.ok) throw refused(options, done.error)
      const { fingerprint, instances } = done.value
      say(
        options,
        { done: !trial, fingerprint, instances },
        trial
          ? `Would leave ${clientId} its secret ${fingerprint}.`
          : `The only secret of ${clientId} is ${fingerprint}.\n${running(instances, 'Followed by')}`,
      )
    })
}

function addCreate(command: Command, { io, refuse }: ResourceServersCommandDeps): void {
  command
    .command('create <client_id>')
    .description('make a credential; prints the entry for AUTH_RESOURCE_SERVERS_FILE')
    .requiredOption('--audience <url>', 'the API root, whose tokens it may introspect')
    .requiredOption('--secret-file <path>', 'where to write the secret; the file must not exist yet')
    .action(async (clientId: string, options: { audience: string; secretFile: string }) => {
      const { server, secret } = createResourceServer(clientId, options.audience)
      const checked = ResourceServer.safeParse(server)
      if (!checked.success)
        throw refuse('client_id must be rs_ and up to 60 of A-Z a-z 0-9 _ -, and the audience a URL.')
      await writeFile(options.secretFile, `${secret}\n`, { mode: 0o600, flag: 'wx' }).catch(
        (error: unknown) => {
          throw refuse(
            `The secret file cannot be written (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}).`,
          )
        },
      )
      io.print(JSON.stringify([checked.data], null, 2))
    })
}

function idOf(text: string): string {
  const id = ResourceServer.shape.client_id.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('It must be rs_ and up to 60 of A-Z a-z 0-9 _ -.')
  return id.data
}

const MOST_SECONDS = 3_600

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && seconds <= MOST_SECONDS) return seconds
  throw new InvalidArgumentError(`It must be a number of seconds from 0 to ${MOST_SECONDS}.`)
}
