/** Denials, such as "no trips", "never arrested", "no police record": the question is not about their subject. */
const DENIAL =
  /\b(?:no|never|zero|without any|not any|nobody is|nothing of)(?: (?:any|had|been|was|a|single|police|court|other))? (?:trips?|travel|traveled|trouble|arrests?|arrested|record|records|police|court|courts|crimes?|criminal|tickets?|divorces?|divorced|divorcing|fighting|fights|problems?|violence|abuse|denied|denials?|deported|deportation|voted|removal|hearings?|ice|lies?|fraud|debts?)\b/gi

/** Mentions of a class or its teacher: the question is not about the class. */
const TEACHER =
  /\b(?:civics|english|esl|history|law|social (?:work|studies)) (?:teacher|class|student|librarian|tutor)s?\b|\b(?:refugee|senior|community) center\b/gi

/** Removes denials and mentions of classes from a question before sections are searched. Triggers read the whole question, since a denied event can be one. */
export const removeDenials = (question: string): string => question.replace(DENIAL, ' ').replace(TEACHER, ' ')
