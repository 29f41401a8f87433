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
