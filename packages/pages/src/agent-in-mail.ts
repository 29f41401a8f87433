import { capitalise } from '@plainpath/domain'
import { cleanAgentName, DOMAIN_CHECKED, DOMAIN_MEANING } from './agent-names.ts'
import { referToApp } from './app-names.ts'
import { formatLongDate } from './long-date.ts'

/** The facts about an agent for a mail to a person. */
interface AgentInMail {
  /** The name that the agent gave itself. Nobody verified it. */
  readonly name?: string | undefined
  /** The host that the agent has proven to control. If present, the mail names the agent only by this host. */
  readonly verifiedDomain?: string | undefined
  /** For a connection: the host of its app, `loopback` or a scheme, as `formatAppHost` returns it. */
  readonly appHost?: string | undefined
  readonly registeredAt: Date
}

/** Describes an agent in plain text. The agent's name is in quotation marks, on a line of its own. */
export function describeAgentInMail({ name, verifiedDomain, appHost, registeredAt }: AgentInMail): string {
  if (appHost !== undefined) return describeAppInMail(appHost, name)
  if (verifiedDomain !== undefined)
    return `The agent is at ${formatCheckedDomain(verifiedDomain)}.
${DOMAIN_MEANING}
It first contacted us on ${formatLongDate(registeredAt)}.`
  if (name === undefined)
    return `The agent gave us no name. It registered with us on ${formatLongDate(registeredAt)}.`
  return `The agent calls itself:

   “${defuseName(name)}”

That name is unverified: an agent can give itself any name. It registered with us on
${formatLongDate(registeredAt)}.`
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

/**
 * Refers to an agent at the start of a sentence: an app by its host, and any other agent by its verified domain, if it has one.
 * Our sentences never contain an unverified name.
 */
export function referToAgentInMail({
  verifiedDomain,
  appHost,
}: Pick<AgentInMail, 'verifiedDomain' | 'appHost'> = {}): string {
  if (appHost !== undefined) return capitalise(referToApp(appHost, { inMail: true }))
  return verifiedDomain === undefined
    ? 'An AI agent'
    : `An AI agent at ${formatCheckedDomain(verifiedDomain)}`
}

/**
 * Writes dots as `[.]`, because mail programs would turn the host into a link to the agent's own website. An internationalised
 * host keeps its ASCII form (`xn--`), so it cannot look like another host.
 */
const formatCheckedDomain = (host: string) => `${host.replaceAll('.', '[.]')} ${DOMAIN_CHECKED}`

/** Matches line ends, other control characters, and characters that are invisible or change the text direction. */
const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const QUOTATION_MARKS = /["“”„‟«»]/gu
/**
 * Matches the characters by which mail programs recognise links: `@`, a colon before `//`, and a dot before two letters. In some
 * scripts, the second letter of a top-level domain is a mark, such as the vowel sign in `.भारत`.
 */
const LINK_TRIGGERS = /:(?=\/\/)|@|[.\u3002\uFF0E\uFF61](?=\p{L}[\p{L}\p{M}])/gu

/**
 * Keeps a name within its quotation marks and on its line, and prevents it from becoming a link: `evil.example` becomes
 * `evil[.]example`.
 */
const defuseName = (name: string): string =>
  cleanAgentName(name)
    .replaceAll(HIDDEN_CHARACTERS, ' ')
    .replaceAll(QUOTATION_MARKS, "'")
    .replaceAll(LINK_TRIGGERS, (trigger) => `[${trigger}]`)
