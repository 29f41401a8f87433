/** What people say that they do not have, so that nobody answers about it: "no trips", "never arrested", "no police record". */
const DENIAL =
  /\b(?:no|never|zero|without any|not any|nobody is|nothing of)(?: (?:any|had|been|was|a|single|police|court|other))? (?:trips?|travel|traveled|trouble|arrests?|arrested|record|records|police|court|courts|crimes?|criminal|tickets?|divorces?|divorced|divorcing|fighting|fights|problems?|violence|abuse|denied|denials?|deported|deportation|voted|removal|hearings?|ice|lies?|fraud|debts?)\b/gi

/** Who asks on behalf of learners: their class is no subject of the question. */
const TEACHER =
  /\b(?:civics|english|esl|history|law|social (?:work|studies)) (?:teacher|class|student|librarian|tutor)s?\b|\b(?:refugee|senior|community) center\b/gi

/** The question without what it only denies, and without who asks. What did not happen can still be a trigger, so only sections are looked up this way. */
export const withoutDenials = (question: string): string =>
  question.replace(DENIAL, ' ').replace(TEACHER, ' ')
