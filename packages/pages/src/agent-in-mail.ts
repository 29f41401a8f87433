import { capitalised } from '@plainpath/domain'
import { DOMAIN_CHECKED, DOMAIN_MEANING, shownName } from './agent-names.ts'
import { referToApp } from './app-names.ts'
import { longDate } from './long-date.ts'

/** What a mail says about the agent that a person gave access. */
interface AgentInMail {
  /** The agent's own word; nobody checked it. */
  readonly name?: string | undefined
  /** The host that the agent has proven to control. The agent is then named by it alone. */
  readonly verifiedDomain?: string | undefined
  /** For a connection, where its app is: see `appHostOf`. */
  readonly appHost?: string | undefined
  readonly registeredAt: Date
}

/** Describes an agent in plain text. Its name stands in quotation marks, on a line of its own. */
export function describeAgentInMail({ name, verifiedDomain, appHost, registeredAt }: AgentInMail): string {
  if (appHost !== undefined) return describeAppInMail(appHost, name)
  if (verifiedDomain !== undefined)
    return `The agent is at ${checkedDomain(verifiedDomain)}.
${DOMAIN_MEANING}
It first contacted us on ${longDate(registeredAt)}.`
  if (name === undefined)
    return `The agent gave us no name. It registered with us on ${longDate(registeredAt)}.`
  return `The agent calls itself:

   “${defuseName(name)}”

That name is unverified: an agent can give itself any name. It registered with us on
${longDate(registeredAt)}.`
}

const describeAppInMail = (appHost: string, name: string | undefined) =>
  `It is ${referToApp(appHost, { inMail: true })}.${
    name === undefined
      ? ''
      : `
It calls itself:

   “${defuseName(name)}”

The app gave us that name. We did not check it.`
  }`

/** Refers to an agent at the beginning of a sentence, by its domain if that is verified. An unverified name is never part of a sentence. */
export function referToAgentInMail({
  verifiedDomain,
  appHost,
}: Pick<AgentInMail, 'verifiedDomain' | 'appHost'> = {}): string {
  if (appHost !== undefined) return capitalised(referToApp(appHost, { inMail: true }))
  return verifiedDomain === undefined ? 'An AI agent' : `An AI agent at ${checkedDomain(verifiedDomain)}`
}

/**
 * Mail programs would turn a host into a link to the agent's own website, in a mail of ours. A host with Unicode letters is
 * shown in its ASCII form (`xn--`), which no other host resembles.
 */
const checkedDomain = (host: string) => `${host.replaceAll('.', '[.]')} ${DOMAIN_CHECKED}`

/** Line ends, other controls, and characters that change the direction of text or cannot be seen. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const QUOTATION_MARKS = /["“”„‟«»]/gu
/** What makes mail programs turn text into a link: `://`, `@`, and a dot before what may be a domain. */
const LINK_PARTS = /:(?=\/\/)|@|[.\u3002\uFF0E\uFF61](?=\p{L}{2})/gu

/**
 * Keeps a name from leaving its quotation marks or its line, and from becoming a link: `evil.example` becomes
 * `evil[.]example`.
 */
const defuseName = (name: string): string =>
  shownName(name)
    .replaceAll(HIDDEN, ' ')
    .replaceAll(QUOTATION_MARKS, "'")
    .replaceAll(LINK_PARTS, (part) => `[${part}]`)
