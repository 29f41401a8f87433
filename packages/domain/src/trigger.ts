import { z } from 'zod'

/** How soon a person needs a lawyer, the soonest first. */
export const URGENCIES = ['urgent', 'high', 'normal'] as const
export type Urgency = (typeof URGENCIES)[number]

/** The hand-off triggers: why a question needs a lawyer. The most pressing come first. */
const URGENCY_BY_TRIGGER = {
  'detention-ice': 'urgent',
  'missed-hearing': 'urgent',
  'abuse-victim': 'urgent',
  'crime-or-trafficking-victim': 'urgent',
  'asylum-deadline': 'urgent',
  'missed-deadline': 'urgent',
  'child-alone': 'high',
  'removal-order': 'high',
  'removal-proceedings': 'high',
  'asylum-fear': 'high',
  'risky-travel': 'high',
  'aging-out-child': 'high',
  'denial-or-appeal': 'high',
  'criminal-history': 'normal',
  smuggling: 'normal',
  'status-violation': 'normal',
  'relationship-changed': 'normal',
  'waiver-needed': 'normal',
  'unlawful-presence': 'normal',
  'misrepresentation-fraud': 'normal',
  'false-citizenship-or-voting': 'normal',
  'long-absence': 'normal',
  'security-or-persecutor': 'normal',
  'scam-victim': 'normal',
  'public-charge': 'normal',
  'citizenship-dispute': 'normal',
} as const satisfies Record<string, Urgency>

const URGENCY_BY_ID = new Map<string, Urgency>(Object.entries(URGENCY_BY_TRIGGER))
const IDS = Object.keys(URGENCY_BY_TRIGGER) as [
  keyof typeof URGENCY_BY_TRIGGER,
  ...(keyof typeof URGENCY_BY_TRIGGER)[],
]

export const TriggerId = z.enum(IDS)
export type TriggerId = z.infer<typeof TriggerId>

/** Sorts triggers by urgency. @returns each once, the most pressing first */
export const orderTriggers = (triggers: readonly TriggerId[]): TriggerId[] =>
  IDS.filter((id) => triggers.includes(id))

/** Finds the urgency of a trigger. @param trigger an id; one unknown to this release counts as normal */
export const findUrgency = (trigger: string): Urgency => URGENCY_BY_ID.get(trigger) ?? 'normal'

/** Finds the highest urgency of several triggers; undefined without any. */
export const highestUrgency = (triggers: readonly string[]): Urgency | undefined =>
  URGENCIES.find((urgency) => triggers.some((trigger) => findUrgency(trigger) === urgency))

/** What a trigger's question makes a person reveal about themselves. `other`: none of what must stay out of forms. */
const REVEALS_BY_TRIGGER = {
  'detention-ice': 'fear',
  'missed-hearing': 'status',
  'abuse-victim': 'abuse',
  'crime-or-trafficking-victim': 'abuse',
  'asylum-deadline': 'fear',
  'missed-deadline': 'other',
  'child-alone': 'abuse',
  'removal-order': 'status',
  'removal-proceedings': 'status',
  'asylum-fear': 'fear',
  'risky-travel': 'status',
  'aging-out-child': 'other',
  'denial-or-appeal': 'other',
  'criminal-history': 'crime',
  smuggling: 'crime',
  'status-violation': 'status',
  'relationship-changed': 'other',
  'waiver-needed': 'status',
  'unlawful-presence': 'status',
  'misrepresentation-fraud': 'crime',
  'false-citizenship-or-voting': 'crime',
  'long-absence': 'other',
  'security-or-persecutor': 'crime',
  'scam-victim': 'crime',
  'public-charge': 'other',
  'citizenship-dispute': 'status',
} as const satisfies Record<TriggerId, 'crime' | 'abuse' | 'fear' | 'status' | 'other'>

const REVEALS_BY_ID = new Map<string, string>(Object.entries(REVEALS_BY_TRIGGER))

/**
 * True if a chat app may show the trigger's question in a form, where the app records the answer: not if it is about crime,
 * abuse, fear or status. @param trigger an id; false for one unknown to this release
 */
export const mayAskInForm = (trigger: string): boolean => REVEALS_BY_ID.get(trigger) === 'other'
