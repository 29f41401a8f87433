import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
// oxlint-disable-next-line no-restricted-imports -- a client sends at a pace
import { setTimeout as sleep } from 'node:timers/promises'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { waitUntil } from '@plainpath/stack/managed-process'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { metric } from '../faults/operations-listener.ts'
import { mailSettings } from '../lend-mailbox-to.ts'
import { basic, createSender, form, type HttpRequest, json, type Sender } from '../send.ts'

/** The number of responses to one kind of request by status; 0 is no response. */
export type Statuses = Readonly<Record<number, number>>

export interface AbuseResult {
  readonly seconds: number
  readonly badTokens: Statuses
  readonly joins: Statuses
  readonly verifications: Statuses
  readonly client: Statuses
  readonly anonymous: Statuses
  /** Introspections that both processes of the API sent meanwhile. */
  readonly introspections: number
  readonly logLines: number
  /** Mails that people at the flooded domain asked for, and the number of them that arrived. */
  readonly asked: number
  readonly delivered: number
}

const ABUSERS = Array.from({ length: 4 }, (_, index) => `127.0.1.${index + 1}`)
/** Each may send 120 joins an hour: together more than a domain's mails of a day. */
const JOINERS = Array.from({ length: 20 }, (_, index) => `127.0.2.${index + 1}`)
const CLIENT = '127.0.3.1'
const READER = '127.0.3.2'
const PERSON = '127.0.3.3'
const CONNECTIONS = 8
const DOMAIN = 'flooded.example'
const PEOPLE = 5
const DELIVERED_MS = 60_000

/** Starts the topology, two processes of each app with production limits, and abuses it for so many seconds. */
export async function runAbuse(options: {
  seconds: number
  folder: string
  print: (line: string) => void
}): Promise<AbuseResult> {
  const { seconds, folder, print } = options
  await using resources = new AsyncDisposableStack()
  const mail = resources.use(await startMailServer())
  const settings = mailSettings(mail)
  const stack = resources.use(await startStack({ folder, limitsFactor: 1, settings, print }))
  const sender = (from: string) => resources.use(createSender(stack.origin, { from }))

  const people = await joinPeople(stack, mail, sender(PERSON))
  const token = await newToken(sender(CLIENT))
  await warmUp(sender(CLIENT), token)
  const linesBefore = await logLines(folder)
  const introspectedBefore = await introspections(stack)
  const stopping = AbortSignal.timeout(seconds * 1_000)
  const [badTokens, joins, verifications, client, anonymous] = await Promise.all([
    flood(ABUSERS.map(sender), randomToken, stopping),
    flood(JOINERS.map(sender), inventedJoin, stopping, 1),
    floodVerifications(ABUSERS.map(sender), stopping),
    sendAtPace(sender(CLIENT), () => readAs(token), 200, stopping),
    sendAtPace(sender(READER), () => ({ path: '/api/guides' }), 700, stopping),
  ])
  const introspected = (await introspections(stack)) - introspectedBefore
  const lines = (await logLines(folder)) - linesBefore
  return {
    ...{ seconds, badTokens, joins, verifications, client, anonymous },
    introspections: introspected,
    logLines: lines,
    asked: people.length,
    delivered: await forgetPeople(mail, sender(PERSON), people),
  }
}

const randomToken = (): HttpRequest => readAs(`ppt_${randomBytes(32).toString('base64url')}`)
const readAs = (token: string): HttpRequest => ({
  path: '/api/guides',
  headers: { authorization: `Bearer ${token}` },
})
const inventedJoin = (): HttpRequest => joining(`${randomUUID()}@${DOMAIN}`)
const joining = (email: string): HttpRequest => ({
  method: 'POST',
  path: '/api/waitlist',
  ...json({ email }),
})

async function introspections({ resource }: Stack): Promise<number> {
  const counts = await Promise.all(resource.map((app) => metric(app, 'introspections_total')))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function logLines(folder: string): Promise<number> {
  const files = (await readdir(folder)).filter((name) => /^(auth|resource)-.*\.log$/.test(name))
  const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), 'utf8')))
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
}

/** Sends again as soon as there is a response, over several connections of each sender. */
async function flood(
  senders: readonly Sender[],
  next: () => HttpRequest,
  stopping: AbortSignal,
  connections = CONNECTIONS,
): Promise<Statuses> {
  const statuses = new Counter()
  const chains = senders.flatMap((sender) =>
    Array.from({ length: connections }, async () => {
      while (!stopping.aborted) await statuses.count(sender.send(next()))
    }),
  )
  await Promise.all(chains)
  return statuses.counts
}

/** Each address registers clients and lets each begin verifications of invented mailboxes. */
async function floodVerifications(senders: readonly Sender[], stopping: AbortSignal): Promise<Statuses> {
  const statuses = new Counter()
  const chains = senders.map(async (sender) => {
    while (!stopping.aborted) {
      const registered = await statuses.count(sender.send(registering()))
      if (registered?.status !== 201) {
        await sleep(100)
        continue
      }
      const { client_id: id, client_secret: secret } = JSON.parse(registered.text) as Record<string, string>
      for (let begun = 0; begun < 10 && !stopping.aborted; begun += 1) {
        const begin = json({ email: `${randomUUID()}@invented.example` })
        const headers = { ...begin.headers, ...basic(id ?? '', secret ?? '') }
        await statuses.count(
          sender.send({ method: 'POST', path: '/api/agent/claim', body: begin.body, headers }),
        )
      }
    }
  })
  await Promise.all(chains)
  return statuses.counts
}

const registering = (): HttpRequest => ({
  method: 'POST',
  path: '/api/agent/register',
  ...json({ client_name: 'An agent' }),
})

/** Sends at a fixed interval, without waiting for responses. */
async function sendAtPace(
  sender: Sender,
  next: () => HttpRequest,
  everyMs: number,
  stopping: AbortSignal,
): Promise<Statuses> {
  const statuses = new Counter()
  const sent: Promise<unknown>[] = []
  while (!stopping.aborted) {
    sent.push(statuses.count(sender.send(next())))
    await sleep(everyMs)
  }
  await Promise.all(sent)
  return statuses.counts
}

class Counter {
  readonly counts: Record<number, number> = {}

  async count<Answered extends { readonly status: number }>(
    response: Promise<Answered>,
  ): Promise<Answered | undefined> {
    const answered = await response.catch(() => undefined)
    const status = answered?.status ?? 0
    this.counts[status] = (this.counts[status] ?? 0) + 1
    return answered
  }
}

async function newToken(sender: Sender): Promise<string> {
  const { client_id: id = '', client_secret: secret = '' } = await parseResponse(sender.send(registering()))
  const grant = form({ grant_type: 'client_credentials' })
  const headers = { ...grant.headers, ...basic(id, secret) }
  const { access_token: token = '' } = await parseResponse(
    sender.send({ method: 'POST', path: '/oauth/token', body: grant.body, headers }),
  )
  return token
}

const parseResponse = async (response: Promise<{ readonly text: string }>) =>
  JSON.parse((await response).text) as Record<string, string>

/** Uses the token until both processes of the API have introspected it. */
async function warmUp(sender: Sender, token: string): Promise<void> {
  for (let index = 0; index < 20; index += 1) await sender.send(readAs(token))
}

/** Lets people at the domain join, and waits for their mails. Returns their addresses. */
async function joinPeople(stack: Stack, mail: MailServer, sender: Sender): Promise<string[]> {
  const people = Array.from({ length: PEOPLE }, () => `${randomUUID()}@${DOMAIN}`)
  for (const email of people) {
    await sender.send(joining(email))
    if (!(await waitUntil(() => countMails(mail, email) > 0, DELIVERED_MS)))
      throw new Error(`a person who joined at ${stack.origin} got no mail`)
  }
  return people
}

const countMails = ({ received }: MailServer, email: string) =>
  received.filter(({ to }) => to.includes(email)).length

/** Lets them ask for removal after the joins have used up the cap of their domain. Returns how many got the mail. */
async function forgetPeople(mail: MailServer, sender: Sender, people: readonly string[]): Promise<number> {
  for (const email of people)
    await sender.send({ method: 'POST', path: '/api/waitlist/forget', ...json({ email }) })
  await waitUntil(() => people.every((email) => countMails(mail, email) > 1), DELIVERED_MS)
  return people.filter((email) => countMails(mail, email) > 1).length
}
