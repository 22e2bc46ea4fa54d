// Kinds of elements whose text stands out too little from what is behind it, by WCAG 2.2, 1.4.3.
() => {
    const parts = color => color.match(/[\d.]+/g).map(Number);
    const over = (top, below) => {
        const a = top[3] ?? 1;
        return [0, 1, 2].map(at => top[at] * a + below[at] * (1 - a));
    };
    const light = rgb => {
        const [r, g, b] = rgb.map(each => each / 255)
            .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const scale = color => {
        const named = color.match(/color\(srgb ([^)]+)\)/);
        if (!named) return parts(color);
        const [r, g, b, a] = named[1].split(/[ \/]+/).map(Number);
        return [r * 255, g * 255, b * 255, a ?? 1];
    };
    const backOf = element => {
        const chain = [];
        for (let at = element; at; at = at.parentElement)
            chain.push(scale(getComputedStyle(at).backgroundColor));
        return chain.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
    };
    const found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (element.closest('svg, .unseen, .skip')) continue;
        const back = backOf(element);
        let alpha = 1;
        for (let at = element; at; at = at.parentElement)
            alpha *= Number(getComputedStyle(at).opacity);
        const ink = scale(getComputedStyle(element).color);
        const front = over([...ink.slice(0, 3), (ink[3] ?? 1) * alpha], back);
        const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) found.set(element.tagName + '.' + element.className, ratio.toFixed(2));
    }
    return [...found];
}
