import { readFileSync } from 'node:fs'

/**
 * A labelled question. Labels are `handoff:<trigger>`, `answer:<guide>` and `out_of_scope`. `alsoOk` can also contain `answer`,
 * for any guide.
 */
export interface LabelledQuestion {
  readonly id: string
  readonly question: string
  readonly expected: string
  readonly alsoOk: readonly string[]
  /** The sections that answer the question, as `guide#anchor`; empty if the label names none. */
  readonly sections: readonly string[]
  /** `held-out` questions only measure the models. `readTrainingQuestions` leaves them out. */
  readonly split: 'train' | 'held-out'
}

/** A line of an example file. It has either a label (`expected`), or an outcome with triggers and sections. */
interface Row {
  readonly id: string
  readonly question: string
  readonly expected?: string
  readonly outcome?: 'information' | 'hand_off' | 'out_of_scope'
  readonly triggers?: readonly string[]
  readonly sections?: readonly string[]
  readonly guide?: string | null
  readonly also_ok?: readonly string[]
  readonly split?: 'train' | 'held-out'
}

/** Reads labelled questions from a file with one JSON object per line. */
export function readLabelledQuestions(file: string | URL): readonly LabelledQuestion[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => parseRow(JSON.parse(line) as Row))
}

/** Lists the names in the accepted labels of one kind: triggers for `handoff`, guides for `answer`. */
export function listAcceptedNames(
  { expected, alsoOk }: LabelledQuestion,
  kind: 'answer' | 'handoff',
): readonly string[] {
  return [expected, ...alsoOk]
    .filter((label) => label.startsWith(`${kind}:`))
    .map((label) => label.slice(kind.length + 1))
}

function parseRow({ id, question, split = 'train', ...row }: Row): LabelledQuestion {
  // The introduction of a guide has the id of the guide.
  const sections = (row.sections ?? []).map((section) => section.replace(/#intro$/, ''))
  const otherLabels = (row.also_ok ?? []).map(normalizeLabel)
  if (row.expected !== undefined)
    return { id, question, expected: row.expected, alsoOk: otherLabels, sections, split }
  const triggers = (row.triggers ?? []).map((trigger) => `handoff:${trigger}`)
  const guides = [
    ...new Set([row.guide ?? [], sections.map((section) => section.split('#')[0] ?? '')].flat()),
  ]
  const labels = {
    hand_off: triggers,
    information: guides.map((guide) => `answer:${guide}`),
    out_of_scope: ['out_of_scope'],
  }[row.outcome ?? 'out_of_scope']
  const [expected] = labels
  if (expected === undefined) throw new Error(`${id}: the label of ${row.outcome} names nothing`)
  return { id, question, expected, alsoOk: [...labels.slice(1), ...otherLabels], sections, split }
}

const LABELS_BY_OUTCOME: Readonly<Record<string, string>> = {
  information: 'answer',
  out_of_scope: 'out_of_scope',
}

/** Converts `hand_off:asylum-fear`, `asylum-fear` and `information` to the form of the other labels. */
function normalizeLabel(label: string): string {
  if (/^(?:answer|handoff):/.test(label)) return label
  return LABELS_BY_OUTCOME[label] ?? `handoff:${label.replace('hand_off:', '')}`
}
