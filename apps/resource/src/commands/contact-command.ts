import { argument, type CommandOutput, option, Refusal } from '@plainpath/commands'
import { ContactId, createPlainText } from '@plainpath/domain'
import { DOMAIN_CHECKED } from '@plainpath/pages'
import type { Pool } from '@plainpath/postgres'
import { type DecryptedMessage, describeStaffState } from '../contact/contact-message.ts'
import {
  type ErasedMessage,
  eraseMessage,
  type ListedMessage,
  listMessages,
  readMessage,
  recordStaffStep,
  type StaffStep,
} from '../contact/manage-messages.ts'
import { createErasureLogger } from '../erasure-log.ts'
import { defineCommand, limitOption, type ResourceContext } from './define-command.ts'
import { readShortText } from './read-short-text.ts'

const messageArgument = argument('<id>', 'the id of the message', (text) => {
  if (!ContactId.safeParse(text).success)
    throw new Refusal('The argument is not the id of a message. To list the ids, run "contact list".')
  return text
})

export const contactCommands = [
  defineCommand({
    name: 'contact list',
    summary:
      'list the newest messages, urgent ones first, without texts and addresses; the audit log records that triggers were decrypted',
    parameters: { limit: limitOption },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now }) {
      const messages = await listMessages(db, {
        sealer: settings.RESOURCE_KEK_FILE,
        limit: args.limit,
        actor: operator.user,
        now: now(),
      })
      return {
        json: { messages },
        text: messages.map(describeListedMessage).join('\n') || 'There are no messages.',
      }
    },
  }),
  defineCommand({
    name: 'contact show',
    summary: 'print a message and its reply address; the audit log records this',
    parameters: { id: messageArgument },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now }) {
      const message = await readMessage(db, {
        sealer: settings.RESOURCE_KEK_FILE,
        id: args.id,
        actor: operator.user,
        now: now(),
      })
      if (!message) throw new Refusal('There is no message with this id.')
      if ('erasedAt' in message) return { json: message, text: describeErasedMessage(message) }
      return { json: toMessageJson(message), text: describeMessage(message) }
    },
  }),
  defineCommand({
    name: 'contact assign',
    summary: 'assign a delivered message to a member of staff; the audit log records this',
    parameters: {
      id: messageArgument,
      to: option('--to <name>', 'the name of the member of staff (default: the user who runs the command)', {
        parse: parseStaffName,
      }),
    },
    opens: 'database',
    run: ({ db, args: { id, to }, operator, now }) =>
      recordStep(db, { kind: 'assign', owner: to ?? operator.user }, { id, operator, now }),
  }),
  defineCommand({
    name: 'contact answered',
    summary: 'record that staff answered a message; the audit log records this',
    parameters: { id: messageArgument },
    opens: 'database',
    run: ({ db, args: { id }, operator, now }) => recordStep(db, { kind: 'answered' }, { id, operator, now }),
  }),
  defineCommand({
    name: 'contact close',
    summary:
      'close a message with a staff note, which is erased together with the message text; the audit log records this',
    parameters: {
      id: messageArgument,
      noteFile: option(
        '--note-file <path>',
        'a file with the staff note, up to 2,000 characters; use - to read the note from standard input',
        { required: true },
      ),
    },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args: { id, noteFile }, operator, now }) {
      const note = await readNote(noteFile)
      const step = { kind: 'close', note, sealer: settings.RESOURCE_KEK_FILE } as const
      return await recordStep(db, step, { id, operator, now })
    },
  }),
  defineCommand({
    name: 'contact erase',
    summary: 'erase the content, addresses and mails of a message; the audit log records this',
    parameters: { id: messageArgument },
    opens: 'database',
    async run({ db, args: { id }, operator, now, log }) {
      if (!(await eraseMessage(db, { id, actor: operator.user, now: now() })))
        throw new Refusal('There is no message with this id, or the message was already erased.')
      createErasureLogger(log, operator)('message', id)
      return { json: { id, status: 'erased' }, text: `Erased the content of message ${id}.` }
    },
  }),
]

function parseStaffName(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > 100 || /\p{C}/u.test(name))
    throw new Refusal('--to must be a name of 1 to 100 characters without control or format characters.')
  return name
}

const MAX_NOTE_CHARACTERS = 2_000
const Note = createPlainText(MAX_NOTE_CHARACTERS)

async function readNote(file: string): Promise<string> {
  const note = Note.safeParse(await readShortText(file, '--note-file', MAX_NOTE_CHARACTERS))
  if (!note.success) throw new Refusal(`The note ${note.error.issues[0]?.message}.`)
  return note.data
}

async function recordStep(
  db: Pool,
  step: StaffStep,
  { id, operator, now }: Pick<ResourceContext, 'operator' | 'now'> & { readonly id: string },
): Promise<CommandOutput> {
  const staffState = await recordStaffStep(db, step, { id, actor: operator.user, now: now() })
  if (staffState === undefined)
    throw new Refusal(
      'There is no open, delivered message with this id. To see the states of recent messages, run "contact list".',
    )
  return {
    json: { id, staffState },
    text:
      step.kind === 'assign'
        ? `Assigned message ${id} to ${step.owner}. Its state is: ${staffState}.`
        : `Message ${id} is now ${staffState}.`,
  }
}

const describeErasedMessage = ({ id, topic, createdAt, erasedAt }: ErasedMessage) =>
  `Message ${id}, ${topic}, erased.\nSent ${createdAt.toISOString()}. Its text and addresses were erased on ${erasedAt.toISOString()}.`

const describeListedMessage = ({
  id,
  topic,
  staffState,
  owner,
  createdAt,
  ageMinutes,
  urgency,
  triggers,
}: ListedMessage) =>
  [
    id,
    createdAt.toISOString(),
    describeAge(ageMinutes),
    `${topic}, ${staffState}${owner === null ? '' : `, assigned to ${owner}`}`,
    ...(urgency === null ? [] : [`${urgency}: ${triggers.join(', ')}`]),
  ].join('  ')

function describeAge(minutes: number): string {
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} d`
}

/** Builds the JSON output. `verified_domain` and `email_verified` are named as in the API and in other commands. */
const toMessageJson = ({ agentDomain, handling, ...message }: DecryptedMessage) => ({
  ...message,
  ...handling,
  staffState: describeStaffState(message.state, handling),
  ...(agentDomain !== null && { verified_domain: agentDomain }),
  email_verified: isEmailVerified(message),
})

/** An agent's message always has a verified address. A person verifies the address by confirming the message. */
const isEmailVerified = ({ state }: Pick<DecryptedMessage, 'state'>) => state !== 'unconfirmed'

function describeWriter({ writtenBy, agentDomain, state }: DecryptedMessage): string {
  const agent =
    agentDomain === null ? 'an AI agent or app' : `an AI agent at ${agentDomain} ${DOMAIN_CHECKED}`
  const writer = writtenBy === 'agent' ? agent : 'a person on the website'
  return `${writer}; e-mail ${isEmailVerified({ state }) ? 'verified' : 'not verified'}`
}

/**
 * Formats a message for a terminal. Marks each line of the text and of the staff note, so that none can imitate the other lines
 * of the output.
 */
const describeMessage = (message: DecryptedMessage) =>
  [
    `Message ${message.id}, ${message.topic}, ${describeStaffState(message.state, message.handling)}`,
    ...(message.handling.owner === null ? [] : [`Assigned to ${message.handling.owner}`]),
    `Written by ${describeWriter(message)}`,
    ...(message.triggers.length > 0 ? [`Needs an attorney: ${message.triggers.join(', ')}`] : []),
    `Reply to ${message.replyTo}`,
    message.text.replaceAll(/^/gm, '| '),
    ...(message.note === null ? [] : ['Staff note:', message.note.replaceAll(/^/gm, '| ')]),
  ].join('\n')
