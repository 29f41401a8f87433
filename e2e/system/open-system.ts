import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { AgentDocuments } from '@plainpath/auth/agent-documents'
import { expectSafeResponse, type SafetyOptions } from '@plainpath/http/testing'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { type Stack, type StackOptions, startStack } from '@plainpath/stack/start-stack'
import { basic, createSender, form, type HttpRequest, type HttpResponse, json, type Sender } from '../send.ts'
import { WITHOUT_FSYNC } from '../without-fsync.ts'
import { openFolders } from './open-folders.ts'

export interface RegisteredAgent {
  readonly client_id: string
  readonly client_secret: string
}

/** The whole topology as processes, with helpers for tests. */
export interface System extends AsyncDisposable {
  readonly stack: Stack
  /** The origin of the gateway. */
  readonly origin: string
  /** The temporary folder with the logs and data, which disposing deletes. */
  readonly folder: string
  /** The secret with which the API authenticates to auth. */
  readonly apiSecret: string
  /** Database URLs with the owner's role, to read the stored rows. */
  readonly adminUrls: { readonly auth: string; readonly resource: string }
  /**
   * The tokens, secrets, e-mail addresses and agent names in the requests and responses of these senders, and values
   * that tests add. `describeConfidentialValues` checks that none is stored in the clear.
   */
  readonly confidential: Set<string>
  /**
   * Creates a sender to the gateway, or to `url`. It checks each response with `expectSafeResponse`.
   *
   * @param options.from the client's address, in 127.0.0.0/8. The default is 127.0.0.1, which the apps trust as a proxy
   * @param options.allowedFailureStatus the 5xx status that a response may have. The default is none
   */
  createSender(options?: { from?: string; url?: string; allowedFailureStatus?: number }): Sender
  /** Registers an agent with a name that no other test uses. */
  register(sender?: Sender): Promise<RegisteredAgent>
  /** Requests an access token with the agent's secret. */
  issueToken(agent: RegisteredAgent, sender?: Sender): Promise<string>
  /** Returns an e-mail address that no other test uses. */
  createEmail(): string
}

export interface SystemOptions extends Pick<StackOptions, 'limitsFactor' | 'redirectStores' | 'settings'> {
  /** The server with the documents of clients whose id is a URL. */
  readonly documents?: AgentDocuments
}

/** Starts the topology, and then prints what the start printed, such as the addresses. */
export async function openSystem({ documents, ...options }: SystemOptions = {}): Promise<System> {
  await using opening = new AsyncDisposableStack()
  const { path: folder } = opening.use(await createTemporaryFolder('system'))
  openFolders.add(folder)
  opening.defer(() => void openFolders.delete(folder))
  const lines: string[] = []
  const authorityFile = path.join(folder, 'documents.pem')
  if (documents) await writeFile(authorityFile, documents.documentOverrides.ca)
  const stack = opening.use(
    await startStack({
      ...options,
      settings: { ...options.settings, ...documents?.settings },
      postgresSettings: WITHOUT_FSYNC,
      // Auth fetches the documents over TLS from a server of the tests, so the processes must trust its certificate authority.
      ...(documents && { processEnvFor: () => ({ NODE_EXTRA_CA_CERTS: authorityFile }) }),
      folder,
      print: (line) => lines.push(line),
    }),
  )
  process.stdout.write(`\n${lines.join('\n')}\n\n`)
  const confidential = new Set<string>()
  const senders = opening.use(new DisposableStack())
  const createRecordingSender: System['createSender'] = ({
    from,
    url = stack.origin,
    allowedFailureStatus,
  } = {}) => {
    const sender = senders.use(createSender(url, from === undefined ? {} : { from }))
    return {
      ...sender,
      send: (request) =>
        sendAndRecord(sender, request, confidential, { origin: stack.origin, allowedFailureStatus }),
    }
  }
  /** The default sender of `register` and `issueToken`. */
  const gateway = createRecordingSender({ from: '127.0.0.100' })
  let serial = 0
  const resources = opening.move()
  return {
    stack,
    origin: stack.origin,
    folder,
    apiSecret: (await readFile(stack.env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')).trim(),
    adminUrls: {
      auth: stack.env['AUTH_MIGRATION_DATABASE_URL'] ?? '',
      resource: stack.env['RESOURCE_MIGRATION_DATABASE_URL'] ?? '',
    },
    confidential,
    createSender: createRecordingSender,
    async register(sender = gateway) {
      const name = `Agent of the system test ${process.pid}-${++serial}`
      const { text } = await sender.send({
        method: 'POST',
        path: '/api/agent/register',
        ...json({ client_name: name }),
      })
      return JSON.parse(text) as RegisteredAgent
    },
    async issueToken(agent, sender = gateway) {
      const grant = form({ grant_type: 'client_credentials' })
      const headers = { ...grant.headers, ...basic(agent.client_id, agent.client_secret) }
      const { text } = await sender.send({ method: 'POST', path: '/oauth/token', ...grant, headers })
      return (JSON.parse(text) as { access_token: string }).access_token
    },
    createEmail: () => `somebody.${process.pid}.${++serial}@canary.example.org`,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Sends a request, records its confidential values, and checks the response. */
async function sendAndRecord(
  sender: Sender,
  request: HttpRequest,
  confidential: Set<string>,
  options: SafetyOptions,
): Promise<HttpResponse> {
  const response = await sender.send(request)
  // The documents at other paths contain only examples.
  if (/^\/(api|oauth)\//.test(request.path))
    for (const body of [String(request.body ?? ''), response.text])
      for (const value of listConfidentialValues(body)) confidential.add(value)
  const isPage = request.path.split('?')[0] === '/claim'
  expectSafeResponse(response, { ...options, ...(isPage && { errorFormat: 'page' as const }) })
  return response
}

/** Lists the values of certain JSON members of a body, if they have at least 12 characters. */
function listConfidentialValues(text: string): string[] {
  const secretMembers = /"(?:access_token|client_secret|client_name|email)":"((?:[^"\\]|\\.)*)"/g
  return [...text.matchAll(secretMembers)]
    .map(([, value]) => JSON.parse(`"${value}"`) as string)
    .filter((value) => value.length >= 12)
}
