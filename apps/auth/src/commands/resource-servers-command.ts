import { writeFile } from 'node:fs/promises'
import {
  argument,
  DRY_RUN,
  flag,
  InvalidArgumentError,
  option,
  Refusal,
  refuseFileError,
} from '@plainpath/commands'
import { holdLock } from '@plainpath/postgres'
import type { Config } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import { type CredentialOperations, credentialOperations } from '../resource-servers/credential-operations.ts'
import { credentialsJson, credentialsText } from '../resource-servers/credential-report.ts'
import type { ResourceServerFollowers } from '../resource-servers/resource-server-followers.ts'
import { createResourceServer, ResourceServer } from '../resource-servers/resource-servers.ts'
import { defineCommand } from './define-command.ts'

const clientId = argument('<client_id>', 'rs_ and more', (text) => {
  const id = ResourceServer.shape.client_id.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('It must be rs_ and up to 60 of A-Z a-z 0-9 _ -.')
  return id.data
})

const serversFile = option(
  '--servers-file <path>',
  'change this copy of the file in AUTH_RESOURCE_SERVERS_FILE, which you put in place: where that cannot be written',
)

const MOST_SECONDS = 3_600

const timeout = option(
  '--timeout <seconds>',
  'how long to wait for every instance (default: AUTH_KEYS_LEASE_SECONDS + 10)',
  {
    parse(text) {
      const seconds = Number(text)
      if (/^\d+(\.\d+)?$/.test(text) && seconds <= MOST_SECONDS) return seconds
      throw new InvalidArgumentError(`It must be a number of seconds from 0 to ${MOST_SECONDS}.`)
    },
  },
)

/** The `resource-servers` commands, for the credentials with which APIs introspect tokens. */
export const resourceServersCommands = [
  defineCommand({
    name: 'resource-servers create',
    summary: 'create a credential, and print its entry for AUTH_RESOURCE_SERVERS_FILE',
    parameters: {
      clientId: argument('<client_id>', 'rs_ and more'),
      audience: option('--audience <url>', 'the API root, whose tokens it may introspect', {
        required: true,
      }),
      secretFile: option('--secret-file <path>', 'where to write the secret; the file must not exist yet', {
        required: true,
      }),
    },
    json: false,
    async run({ args }) {
      const { server, secret } = createResourceServer(args.clientId, args.audience)
      const checked = ResourceServer.safeParse(server)
      if (!checked.success)
        throw new Refusal('client_id must be rs_ and up to 60 of A-Z a-z 0-9 _ -, and the audience a URL.')
      await writeFile(args.secretFile, `${secret}\n`, { mode: 0o600, flag: 'wx' }).catch(
        refuseFileError((code) => `The secret file cannot be written (${code}).`),
      )
      return { text: JSON.stringify([checked.data], null, 2) }
    },
  }),
  defineCommand({
    name: 'resource-servers list',
    summary:
      'list the resource servers: how old their secrets are, when each was used, and which instances accept it',
    opens: 'database',
    async run(call) {
      const view = await createOperations({ ...call, args: {} }).view()
      return { json: credentialsJson(view), text: credentialsText(view) }
    },
  }),
  defineCommand({
    name: 'resource-servers rotate',
    summary: 'add a second secret; when every instance accepts it, write it where the API reads it',
    parameters: {
      clientId,
      secretFile: option('--secret-file <path>', 'the file that the API reads', { required: true }),
      replace: flag('--replace', 'when there is such a file'),
      serversFile,
      timeout,
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run(call) {
      const { clientId: id, secretFile, replace, dryRun: trial } = call.args
      const done = await withFileLock(call, (all) => all.rotate(id, { secretFile, replace, trial }))
      if (!done.ok) throw new Refusal(done.error)
      const { fingerprint, instances, resumed } = done.value
      if (trial)
        return {
          json: { ok: true, done: false, resumes: resumed, instances },
          text: `Would ${resumed ? 'go on to ' : ''}give ${id} a second secret. ${running(instances, 'Running')}`,
        }
      return {
        json: { ok: true, done: true, fingerprint, resumed, instances },
        text: [
          `${id} has a second secret, ${fingerprint}, in ${secretFile}. Both are good.`,
          running(instances, 'Accepted by'),
          `When the API uses it: resource-servers finish ${id}`,
        ].join('\n'),
      }
    },
  }),
  defineCommand({
    name: 'resource-servers finish',
    summary: 'remove the older secret, once nobody uses it',
    parameters: {
      clientId,
      callOff: flag('--call-off', 'remove the newer one instead'),
      evenIfUsed: flag(
        '--even-if-used',
        'after a leak: also while somebody, who may be its thief, still shows it',
        ['callOff'],
      ),
      serversFile,
      timeout,
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run(call) {
      const { clientId: id, callOff, evenIfUsed, dryRun: trial } = call.args
      const which = callOff ? 'newer' : 'older'
      const done = await withFileLock(call, (all) => all.finish(id, { which, evenIfUsed, trial }))
      if (!done.ok) throw new Refusal(done.error)
      const { fingerprint, instances } = done.value
      return {
        json: { ok: true, done: !trial, fingerprint, instances },
        text: trial
          ? `Would leave ${id} its secret ${fingerprint}.`
          : `The only secret of ${id} is ${fingerprint}.\n${running(instances, 'Followed by')}`,
      }
    },
  }),
]

const running = (hosts: readonly string[], what: string) =>
  hosts.length > 0 ? `${what}: ${hosts.join(', ')}` : 'No instance of the server is running.'

interface Call {
  readonly config: Config
  readonly stores: { readonly resourceServerFollowers: ResourceServerFollowers }
  readonly events: AuthEvents
  readonly args: { readonly serversFile?: string | undefined; readonly timeout?: number | undefined }
}

function createOperations({ config, stores, events, args }: Call): CredentialOperations {
  const copied = args.serversFile !== undefined
  return credentialOperations({
    served: config.resourceServersFile,
    copy: args.serversFile,
    followers: stores.resourceServerFollowers,
    leaseMs: config.keys.leaseMs,
    timeoutMs: args.timeout === undefined ? undefined : args.timeout * 1_000,
    onWritten: (done, id, fingerprint) =>
      void events.emit(`api-secret-${done}`, {
        resource_server: id,
        fingerprint,
        ...(copied && { copy: true }),
      }),
  })
}

const FILE_CALLS: ReadonlySet<unknown> = new Set([
  'open',
  'rename',
  'write',
  'fsync',
  'chown',
  'fchown',
  'chmod',
])

/** Runs a change of the file under a lock, so that no other command changes it meanwhile. */
async function withFileLock<T>(
  call: Call,
  change: (operations: CredentialOperations) => Promise<T>,
): Promise<T> {
  await using lock = await holdLock(call.config.databaseUrl, 'plainpath resource servers')
  if (!lock) throw new Refusal('Another command is changing the resource servers.')
  return await change(createOperations(call)).catch((error: unknown) => {
    const { code, syscall } = error as NodeJS.ErrnoException
    throw code && FILE_CALLS.has(syscall) ? new Refusal(`A file cannot be written (${code}).`) : error
  })
}
