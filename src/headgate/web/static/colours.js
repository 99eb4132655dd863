// A colour and a dash for each class, by its place among all of them, and so the same on every page; others for streams.
// They can be told apart by whoever sees few colours.

const CLASSES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87d00", "#3a93cc", "#8c6bb1"];
const STREAMS = ["#2a9d8f", "#8a5a9e", "#b5892b", "#c0504d", "#5b7fa6", "#7a9a3a"];
const NONE = "#7f8a94";
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
let known = [];

export function learn(names) {
  known = names;
}

// A class that is not listed, such as that of queries with a deadline, is grey.
export const ofClass = (name) => {
  const number = known.indexOf(name);
  return number < 0 ? { colour: NONE, dash: DASHES[2] } : { colour: CLASSES[number % CLASSES.length], dash: DASHES[number % DASHES.length] };
};
export const colour = (name) => ofClass(name).colour;

export const ofStream = (_, number) => ({ colour: STREAMS[number % STREAMS.length], dash: DASHES[number % DASHES.length] });
