import { z } from 'zod'

/** How urgently a person may need an attorney, most urgent first. */
export const URGENCIES = ['urgent', 'high', 'normal'] as const
export type Urgency = (typeof URGENCIES)[number]

/** The hand-off triggers with their urgencies, most urgent first. Each is a reason why a person needs an attorney. */
const URGENCY_BY_TRIGGER = {
  'suicide-risk': 'urgent',
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
const TRIGGER_IDS = Object.keys(URGENCY_BY_TRIGGER) as [
  keyof typeof URGENCY_BY_TRIGGER,
  ...(keyof typeof URGENCY_BY_TRIGGER)[],
]

export const TriggerId = z.enum(TRIGGER_IDS)
export type TriggerId = z.infer<typeof TriggerId>

/** Sorts triggers by urgency, the most urgent first, and removes duplicates. */
export const orderTriggers = (triggers: readonly TriggerId[]): TriggerId[] =>
  TRIGGER_IDS.filter((id) => triggers.includes(id))

/**
 * Finds the urgency of a trigger.
 *
 * @param trigger the id. An id that this release does not know has normal urgency
 */
export const findUrgency = (trigger: string): Urgency => URGENCY_BY_ID.get(trigger) ?? 'normal'

/** Finds the highest urgency of several triggers. Returns undefined if there are no triggers. */
export const findHighestUrgency = (triggers: readonly string[]): Urgency | undefined =>
  URGENCIES.find((urgency) => triggers.some((trigger) => findUrgency(trigger) === urgency))

/** The information that a person reveals by answering a trigger's question. Only `other` may be asked for in a form. */
const REVEALS_BY_TRIGGER = {
  'suicide-risk': 'health',
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
} as const satisfies Record<TriggerId, 'crime' | 'abuse' | 'fear' | 'health' | 'status' | 'other'>

const REVEALS_BY_ID = new Map<string, string>(Object.entries(REVEALS_BY_TRIGGER))

/**
 * Returns true if a chat app may show the trigger's question in a form. The app records the answers, so a form must not ask about
 * crime, abuse, fear, health or status.
 *
 * @param trigger the id. The result is false for an id that this release does not know
 */
export const mayAskInForm = (trigger: string): boolean => REVEALS_BY_ID.get(trigger) === 'other'
